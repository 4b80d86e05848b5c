"""Words in common: BLEU and ROUGE of one text against one or several references.

BLEU comes from sacrebleu and ROUGE from rouge-score, both of the extra `text`. What papers call BLEU differs in
tokens, smoothing and weights, so all three are options here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from vantage.errors import InputError, nearest

Smoothing: TypeAlias = Literal["floor", "add-k", "exp", "none"]
"""What counts as matched where no n-gram of a length is (Chen and Cherry 2014): a fixed small number (`floor`, their
method 1), one match more than there are (`add-k`, method 2), ever smaller numbers (`exp`, method 3), or nothing."""
Tokens: TypeAlias = Literal["treebank", "13a", "intl", "words"]
"""How a text is cut: like NLTK's `word_tokenize`, like sacrebleu's 13a or intl, or at blanks."""

ROUGE: Final = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}
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
    metric = _metric(smoothing, value, longest)
    known = [references] if isinstance(references, str) else list(references)
    if not known:
        raise InputError("there is no reference to compare with", remedy="pass at least one text")
    told = metric.corpus_score([cut(candidate)], [[cut(reference)] for reference in known])
    if not told.counts[0]:
        return dict.fromkeys(lengths, 0.0)
    floor = {"floor": 0.1 if value is None else value, "add-k": 1.0}.get(smoothing, 0.0)
    scores: dict[int, float] = {}
    for n in lengths:
        share = list((weights or {}).get(n) or [1 / n] * n)
        precisions = [p / 100 for p in told.precisions[:n]]
        possible = [k for k in range(n) if told.totals[k]]
        if effective_order:
            precisions, share = [precisions[k] for k in possible], [1 / len(possible)] * len(possible)
        else:
            # An n-gram length that the text is too short for has one place, and no match in it.
            precisions = [p if told.totals[k] else floor for k, p in enumerate(precisions)]
        if min(precisions) <= 0:
            scores[n] = 0.0
        else:
            scores[n] = float(told.bp * np.exp(np.dot(share, np.log(precisions))))
    return scores


def rouge(candidate: str, references: str | Sequence[str], *, stem: bool = False) -> dict[str, float]:
    """ROUGE-1, -2 and -L (Lin 2004) as F-measures; of several references the most alike counts.

    >>> {name: round(score, 3) for name, score in rouge("the cat sat", ["a cat sat down", "dogs run"]).items()}
    {'rouge-1': 0.571, 'rouge-2': 0.4, 'rouge-l': 0.571}
    """
    known = [references] if isinstance(references, str) else list(references)
    if not known:
        raise InputError("there is no reference to compare with", remedy="pass at least one text")
    told = _rouge(stem).score_multi(known, candidate)
    return {name: float(told[theirs].fmeasure) for name, theirs in ROUGE.items()}


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


@lru_cache(maxsize=32)
def _metric(smoothing: Smoothing, value: float | None, longest: int) -> Any:
    if smoothing not in get_args(Smoothing):
        raise InputError(f"there is no smoothing '{smoothing}'", remedy=nearest(str(smoothing), get_args(Smoothing)))
    if longest < 1:
        raise InputError(f"BLEU-{longest} counts no words", remedy="use 1 to 4")
    return _required("sacrebleu.metrics").BLEU(
        tokenize="none", smooth_method=smoothing, smooth_value=value, max_ngram_order=longest, force=True
    )


@lru_cache(maxsize=2)
def _rouge(stem: bool) -> Any:
    return _required("rouge_score.rouge_scorer").RougeScorer(list(ROUGE.values()), use_stemmer=stem)


def _required(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = {"sacrebleu": "sacrebleu", "nltk": "nltk"}.get(module.partition(".")[0], "rouge-score")
        raise InputError(f"this measure needs {package}, which is not installed", remedy=_EXTRA) from None
