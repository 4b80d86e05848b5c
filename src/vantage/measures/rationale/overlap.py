"""Words in common: BLEU and ROUGE of one text against one or several references.

BLEU comes from sacrebleu and ROUGE from rouge-score, both of the extra `text`: their tokens, n-grams and formulas. The
counting between is done here, because a study compares every text many times: n-grams of a text are counted once, and
the longest common subsequence is found with bits instead of a table, which takes a twentieth of the time. What papers
call BLEU differs in tokens, smoothing and weights, so all three are options.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from vantage.errors import InputError, nearest

Smoothing: TypeAlias = Literal["floor", "add-k", "exp", "none"]
"""What counts as matched where no n-gram of a length is (Chen and Cherry 2014): a fixed small number (`floor`, their
method 1), one match more than there are (`add-k`, method 2), ever smaller numbers (`exp`, method 3), or nothing."""
Tokens: TypeAlias = Literal["treebank", "13a", "intl", "words"]
"""How a text is cut: like NLTK's `word_tokenize`, like sacrebleu's 13a or intl, or at blanks."""

ROUGE: Final = ("rouge-1", "rouge-2", "rouge-l")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_EXTRA: Final = "pip install 'vantage[text]'"


def bleu(
    candidate: str,
    references: str | Sequence[str],
    *,
    n: int = 4,
    smoothing: Smoothing = "floor",
    value: float | None = None,
    weights: Sequence[float] | None = None,
    tokens: Tokens = "treebank",
    effective_order: bool = False,
) -> float:
    """BLEU-n (Papineni et al. 2002) of a text against its references, with n-gram matches clipped by all of them.

    The defaults are those of NLTK with smoothing method 1, the usual choice for single sentences; sacrebleu's own
    sentence BLEU is `smoothing="exp", tokens="13a", effective_order=True`. A text without a word in common scores 0.

    Args:
        candidate: The text.
        references: What it is compared with; of several, matches with any count.
        n: The longest n-grams.
        smoothing: What counts as matched where nothing is.
        value: The number of `floor` (0.1) or `add-k` (1).
        weights: Of the n-gram lengths; all alike unless given. Some papers use thirds that are rounded to 0.33.
        tokens: How texts are cut.
        effective_order: Whether n-grams that are longer than the text are left out, rather than unmatched.

    >>> round(bleu("the cat sat on the mat", "the cat sat on a mat", n=2), 4)
    0.7071
    >>> bleu("so it goes", "nothing alike", n=2)
    0.0
    """
    return bleu_scores(
        candidate, references, (n,), smoothing, value, {n: weights} if weights else {}, tokens, effective_order
    )[n]


def bleu_scores(
    candidate: str,
    references: str | Sequence[str],
    lengths: Sequence[int],
    smoothing: Smoothing = "floor",
    value: float | None = None,
    weights: Mapping[int, Sequence[float]] | None = None,
    tokens: Tokens = "treebank",
    effective_order: bool = False,
) -> dict[int, float]:
    """BLEU-n for several n at once, from one count of n-grams."""
    for n, given in (weights or {}).items():
        if len(given) != n:
            raise InputError(f"BLEU-{n} has {n} weights, not {len(given)}", remedy="give one weight per length")
    cut = _cutter(tokens)
    longest = max(lengths)
    if smoothing not in get_args(Smoothing):
        raise InputError(f"there is no smoothing '{smoothing}'", remedy=nearest(str(smoothing), get_args(Smoothing)))
    if longest < 1:
        raise InputError(f"BLEU-{longest} counts no words", remedy="use 1 to 4")
    known = _known(references)
    matched, possible_matches, length, closest = _clipped(cut(candidate), [cut(text) for text in known], longest)
    score = _required("sacrebleu.metrics").BLEU.compute_bleu(
        matched, possible_matches, length, closest, smoothing, value, max_ngram_order=longest
    )
    if not score.counts[0]:
        return dict.fromkeys(lengths, 0.0)
    floor = {"floor": 0.1 if value is None else value, "add-k": 1.0}.get(smoothing, 0.0)
    scores: dict[int, float] = {}
    for n in lengths:
        share = list((weights or {}).get(n) or [1 / n] * n)
        precisions = [p / 100 for p in score.precisions[:n]]
        possible = [k for k in range(n) if score.totals[k]]
        if effective_order:
            precisions, share = [precisions[k] for k in possible], [1 / len(possible)] * len(possible)
        else:
            # An n-gram length that the text is too short for has one place, and no match in it.
            precisions = [p if score.totals[k] else floor for k, p in enumerate(precisions)]
        if min(precisions) <= 0:
            scores[n] = 0.0
        else:
            scores[n] = float(score.bp * np.exp(np.dot(share, np.log(precisions))))
    return scores


def rouge(candidate: str, references: str | Sequence[str], *, stem: bool = False) -> dict[str, float]:
    """ROUGE-1, -2 and -L (Lin 2004) as F-measures; of several references the most alike counts.

    >>> {name: round(score, 3) for name, score in rouge("the cat sat", ["a cat sat down", "dogs run"]).items()}
    {'rouge-1': 0.571, 'rouge-2': 0.4, 'rouge-l': 0.571}
    """
    scores_of = [_rouge(candidate, reference, stem) for reference in _known(references)]
    return {name: max(scores) for name, scores in zip(ROUGE, zip(*scores_of, strict=True), strict=True)}


def longest_common(one: Sequence[str], two: Sequence[str]) -> int:
    """The length of the longest common subsequence, a bit for each word of the first text (Hyyrö 2004).

    >>> longest_common("the cat sat down".split(), "a cat lay down".split())
    2
    """
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    unmatched = everything = (1 << len(one)) - 1
    for word in two:
        if here := unmatched & places.get(word, 0):
            unmatched = (unmatched + here | unmatched - here) & everything
    return len(one) - unmatched.bit_count()


def tokenized(text: str) -> list[str]:
    """A text cut like NLTK's `word_tokenize`, sentence by sentence, without its downloaded sentence model.

    >>> tokenized("They don't know. Why?")
    ['They', 'do', "n't", 'know', '.', 'Why', '?']
    """
    return _treebank(text).split(" ") if text.strip() else []


def _cutter(tokens: Tokens) -> Callable[[str], str]:
    if tokens not in get_args(Tokens):
        raise InputError(f"there are no tokens '{tokens}'", remedy=nearest(str(tokens), get_args(Tokens)))
    if tokens == "treebank":
        return _treebank
    if tokens == "words":
        return lambda text: " ".join(text.split())
    return _sacrebleu_tokens(tokens)


@lru_cache(maxsize=100_000)
def _treebank(text: str) -> str:
    # A full stop is split off only at the end of what the tokenizer is given, so it is given sentences.
    tokenizer = _tokenizer()
    return " ".join(word for part in _SENTENCE.split(text.strip()) for word in tokenizer.tokenize(part))


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    return _required("nltk.tokenize").NLTKWordTokenizer()


@lru_cache(maxsize=2)
def _sacrebleu_tokens(name: str) -> Callable[[str], str]:
    metric = _required("sacrebleu.metrics").BLEU(tokenize=name, effective_order=True)
    cut: Callable[[str], str] = metric.tokenizer
    return cut


def _known(references: str | Sequence[str]) -> list[str]:
    known = [references] if isinstance(references, str) else list(references)
    if not known:
        raise InputError("there is no reference to compare with", remedy="pass at least one text")
    return known


@lru_cache(maxsize=2048)
def _ngrams(cut: str, longest: int) -> tuple[Mapping[tuple[str, ...], int], int]:
    """The n-grams of a text that has been cut, and how many words it has."""
    counts, length = _required("sacrebleu.metrics.helpers").extract_all_word_ngrams(cut, 1, longest)
    return counts, int(length)


def _clipped(candidate: str, references: Sequence[str], longest: int) -> tuple[list[int], list[int], int, int]:
    """What BLEU is made from: matches and n-grams by length, the text's words, and those of the closest reference."""
    mine, length = _ngrams(candidate, longest)
    theirs = [_ngrams(reference, longest) for reference in references]
    matched = [0] * longest
    for gram in mine.keys() & set().union(*(counts.keys() for counts, _ in theirs)):
        most = max(counts.get(gram, 0) for counts, _ in theirs)
        matched[len(gram) - 1] += min(mine[gram], most)
    total = [max(length - n, 0) for n in range(longest)]
    closest = min((words for _, words in theirs), key=lambda words: (abs(words - length), words))
    return matched, total, length, closest


@lru_cache(maxsize=16_384)
def _rouge_words(text: str, stem: bool) -> tuple[str, ...]:
    return tuple(_rouge_tokenizer(stem).tokenize(text))


@lru_cache(maxsize=2)
def _rouge_tokenizer(stem: bool) -> Any:
    return _required("rouge_score.tokenizers").DefaultTokenizer(use_stemmer=stem)


def _rouge(candidate: str, reference: str, stem: bool) -> tuple[float, float, float]:
    """ROUGE-1, -2 and -L with one reference."""
    mine, theirs = _rouge_words(candidate, stem), _rouge_words(reference, stem)
    one = (Counter(mine) & Counter(theirs)).total()
    two = (Counter(pairwise(mine)) & Counter(pairwise(theirs))).total()
    fmeasure = _required("rouge_score.scoring").fmeasure
    scores = []
    for shared, shorter in ((one, 0), (two, 1), (longest_common(theirs, mine), 0)):
        here, there = max(len(mine) - shorter, 1), max(len(theirs) - shorter, 1)
        scores.append(float(fmeasure(shared / here, shared / there)))
    return scores[0], scores[1], scores[2]


def _required(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = {"sacrebleu": "sacrebleu", "nltk": "nltk"}.get(module.partition(".")[0], "rouge-score")
        raise InputError(f"this measure needs {package}, which is not installed", remedy=_EXTRA) from None
