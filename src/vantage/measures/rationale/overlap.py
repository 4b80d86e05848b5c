"""Words in common: BLEU and ROUGE of one text against one or several references.

Tokens are those of sacrebleu, NLTK (the extra `text`) and rouge-score, formulas those of sacrebleu and rouge-score. The
counting is done here, for many pairs at once, because a study compares every text many times: n-grams are columns of
sparse matrices, and the longest common subsequence is found with bits instead of a table. What papers call BLEU differs
in tokens, smoothing and weights, so all three are options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from vantage.errors import InputError, nearest
from vantage.measures.ratings import Floats, Ints
from vantage.measures.texts.tokens import CutTexts

Smoothing: TypeAlias = Literal["floor", "add-k", "exp", "none"]
"""What counts as matched where no n-gram of a length is (Chen and Cherry 2014): a fixed small number (`floor`, their
method 1), one match more than there are (`add-k`, method 2), ever smaller numbers (`exp`, method 3), or nothing."""
Tokens: TypeAlias = Literal["treebank", "13a", "intl", "words"]
"""How a text is cut: like NLTK's `word_tokenize`, like sacrebleu's 13a or intl, or at blanks."""
Pair: TypeAlias = tuple[str, str | Sequence[str]]
"""A text and its reference or references."""

Word = TypeVar("Word", bound=Hashable)
ROUGE: Final = ("rouge-1", "rouge-2", "rouge-l")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_CLOSING: Final = frozenset("])}>\"'»”’")
_ROUGE_WORD: Final = re.compile(r"[a-z0-9]+")
_EXTRA: Final = "pip install 'vantage-raters[text]'"


def bleu_of_pairs(
    pairs: Sequence[Pair],
    lengths: Sequence[int],
    smoothing: Smoothing = "floor",
    weights: Mapping[int, Sequence[float]] | None = None,
    tokens: Tokens = "treebank",
) -> dict[int, Floats]:
    """BLEU-n (Papineni et al. 2002) of texts against their references, for several n; any reference's n-grams match.

    The defaults are those of NLTK with smoothing method 1, the usual choice for single sentences. A text without a word
    in common scores 0. `weights` are those of the n-gram lengths, by n, equal unless given; some papers use thirds that
    are rounded to 0.33.

    >>> scores = bleu_of_pairs([("the cat sat on the mat", "the cat sat on a mat"), ("so it goes", "nothing")], [2])
    >>> scores[2].round(4).tolist()
    [0.7071, 0.0]
    """
    for n, given in (weights or {}).items():
        if len(given) != n:
            raise InputError(f"BLEU-{n} has {n} weights, not {len(given)}", remedy="give one weight per length")
    cut = _cutter(tokens)
    longest = max(lengths)
    if smoothing not in get_args(Smoothing):
        raise InputError(f"there is no smoothing '{smoothing}'", remedy=nearest(str(smoothing), get_args(Smoothing)))
    if longest < 1:
        raise InputError(f"BLEU-{longest} counts no words", remedy="use 1 to 4")
    texts = _Texts(pairs, cut)
    size = texts.sizes[texts.candidate]
    other = texts.sizes[texts.references]
    # Of references that are as close, the shorter one counts.
    nearest_ = np.lexsort((other, np.abs(other - size[texts.pair]), texts.pair))
    closest = other[nearest_[texts.first]]
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.where(size < closest, np.exp(1 - closest / size), 1.0)
    matched = np.array([texts.clipped(n) for n in range(1, longest + 1)])
    possible = np.maximum(size - np.arange(longest)[:, None], 0).astype(np.float64)
    precision = _precisions(matched, possible, smoothing)
    scores: dict[int, Floats] = {}
    for n in lengths:
        share = np.array((weights or {}).get(n) or [1 / n] * n)[:, None]
        with np.errstate(divide="ignore"):
            mean = np.exp((share * np.log(precision[:n])).sum(axis=0))
        scores[n] = np.where(matched[0] > 0, brevity * mean, 0.0)
    return scores


def _precisions(matched: Floats, possible: Floats, smoothing: Smoothing) -> Floats:
    """The precision of every n-gram length and pair, smoothed as sacrebleu does.

    An n-gram length that the text is too short for has one place, and no match in it.
    """
    if smoothing == "add-k":
        matched, possible = (np.concatenate([one[:1], one[1:] + 1.0]) for one in (matched, possible))
    usable = np.cumprod(possible > 0, axis=0).astype(bool)
    floor = {"floor": 0.1, "add-k": 1.0}.get(smoothing, 0.0)
    instead = np.full_like(matched, floor if smoothing == "floor" else 0.0)
    if smoothing == "exp":
        instead = 0.5 ** np.cumsum((matched == 0) & usable, axis=0)
    counted = np.where(matched > 0, matched, instead) / np.where(usable, possible, 1.0)
    return np.where(usable, counted, floor)


def rouge_of_pairs(pairs: Sequence[Pair]) -> dict[str, Floats]:
    """ROUGE-1, -2 and -L (Lin 2004) as F-measures of texts; of several references the most alike counts.

    >>> scores = rouge_of_pairs([("the cat sat", ["a cat sat down", "dogs run"])])
    >>> {name: score.round(3).tolist() for name, score in scores.items()}
    {'rouge-1': [0.571], 'rouge-2': [0.4], 'rouge-l': [0.571]}
    """
    texts = _Texts(pairs, lambda texts: CutTexts.of(texts, lambda text: _ROUGE_WORD.findall(text.lower())))
    candidate = texts.candidate[texts.pair]
    scores = {}
    for name, common, shorter in zip(
        ROUGE, (texts.shared(1), texts.shared(2), texts.subsequences()), (0, 1, 0), strict=True
    ):
        lengths = [np.maximum(texts.sizes[at] - shorter, 1) for at in (candidate, texts.references)]
        scores[name] = np.maximum.reduceat(2 * common / (lengths[0] + lengths[1]), texts.first)
    return scores


class _Texts:
    """The texts of pairs, each cut once: candidates and references by their places, and their n-grams."""

    def __init__(self, pairs: Sequence[Pair], cut: Callable[[Sequence[str]], CutTexts]) -> None:
        known = [_known(references) for _, references in pairs]
        texts = CutTexts.split([[candidate for candidate, _ in pairs], *known])
        self.candidate = texts.numbers[: len(pairs)]
        self.references = texts.numbers[len(pairs) :]
        """The references of all pairs, one after the other."""
        counts = texts.sizes[1:]
        self.pair: Ints = np.repeat(np.arange(len(pairs)), counts)
        """The pair of each reference."""
        self.first: Ints = np.cumsum(counts) - counts
        """Where the references of each pair begin."""
        self.cut = cut(texts.known)
        self.sizes = self.cut.sizes

    def shared(self, n: int) -> Floats:
        """How many n-grams a candidate shares with each of its references."""
        grams = self.cut.counts(n)
        return _row_sums(grams[self.candidate[self.pair]].minimum(grams[self.references]))

    def clipped(self, n: int) -> Floats:
        """How many n-grams a candidate shares with any of its references, as often as the one with most has them."""
        grams = self.cut.counts(n)
        most = grams[self.references[self.first]]
        ends = np.append(self.first[1:], len(self.references))
        for later in range(1, int((ends - self.first).max(initial=1))):
            most = most.maximum(grams[self.references[np.minimum(self.first + later, ends - 1)]])
        return _row_sums(grams[self.candidate].minimum(most))

    def subsequences(self) -> Floats:
        """The length of the longest common subsequence of a candidate and each of its references."""
        pairs = zip(self.candidate[self.pair].tolist(), self.references.tolist(), strict=True)
        words = list(self.cut.lists())
        places = {text: word_places(words[text]) for text in np.unique(self.references).tolist()}
        lengths = [_common(places[two], len(words[two]), words[one]) for one, two in pairs]
        return np.array(lengths, dtype=np.float64)


def _row_sums(counts: Any) -> Floats:
    """The sum of each row of a sparse matrix that may have more columns than a vector could."""
    sums = np.concatenate([[0.0], np.cumsum(counts.data)])[counts.indptr]
    return np.asarray(np.diff(sums), dtype=np.float64)


def word_places(text: Iterable[Word]) -> dict[Word, int]:
    """The places of each word in a text, one bit each.

    >>> word_places("to be or not to be".split())["be"] == 0b100010
    True
    """
    places: dict[Word, int] = {}
    for place, word in enumerate(text):
        places[word] = places.get(word, 0) | 1 << place
    return places


def _common(places: Mapping[Word, int], size: int, other: Iterable[Word]) -> int:
    """The length of the longest common subsequence, a bit for each word of the first text (Hyyrö 2004).

    >>> _common(word_places("the cat sat down".split()), 4, "a cat lay down".split())
    2
    """
    unmatched = everything = (1 << size) - 1
    for word in other:
        if word in places and (here := unmatched & places[word]):
            unmatched = (unmatched + here | unmatched - here) & everything
    return size - unmatched.bit_count()


def _cutter(tokens: Tokens) -> Callable[[Sequence[str]], CutTexts]:
    if tokens not in get_args(Tokens):
        raise InputError(f"there are no tokens '{tokens}'", remedy=nearest(str(tokens), get_args(Tokens)))
    if tokens == "treebank":
        return _treebank
    if tokens == "words":
        return lambda texts: CutTexts.of(texts, str.split)
    tokenize = _sacrebleu_tokens(tokens)
    return lambda texts: CutTexts.split([tokenize(text).split() for text in texts])


def _treebank(texts: Sequence[str]) -> CutTexts:
    """Texts cut word by word, since words come again and the rules see no further than one of them.

    A full stop is split off only at the end of what the tokenizer is given, so it is given sentences. Two rules see
    further than a word: a full stop ends a sentence behind which brackets or quotes close it, and quotes open behind
    blanks, not behind other white space; such texts are cut as a whole.
    """
    chunks = CutTexts.split([[text] if _whole(text) else text.split() for text in texts])
    last = np.array([chunk.endswith((".", "!", "?")) for chunk in chunks.known], dtype=bool)[chunks.numbers]
    ends = np.cumsum(chunks.sizes)[chunks.sizes > 0]
    last[ends - 1] = True
    first = np.concatenate([[True], last[:-1]])[: len(last)]
    kinds, kind = np.unique(4 * chunks.numbers + 2 * first + last, return_inverse=True)
    return chunks.replaced(kind, (_tokens(chunks.known[one // 4], one & 2, one & 1) for one in kinds.tolist()))


def _whole(text: str) -> bool:
    """Whether a text has to be cut as one."""
    quoted = '"' in text or "''" in text
    closed = _CLOSING.issuperset("".join(text.rsplit(None, 1)[-1:]))
    return closed or (quoted and text.split() != text.split(" "))


@lru_cache(maxsize=300_000)
def _tokens(chunk: str, first: int, last: int) -> Sequence[str]:
    """The tokens of what stands between two blanks, or of a whole text; `first` and `last` of its sentence or not."""
    if (
        chunk.isascii()
        and chunk.isalpha()
        and not any(rule.search(f" {chunk} ") for rule in _tokenizer().CONTRACTIONS2)
    ):
        return (chunk,)
    if first and last:
        return [token for sentence in _SENTENCE.split(chunk.strip()) for token in _tokenizer().tokenize(sentence)]
    tokens: list[str] = _tokenizer().tokenize(f"{'' if first else 'x '}{chunk}{'' if last else ' x'}")
    return tokens[not first : len(tokens) - (not last)]


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


def _required(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(f"this measure needs {package}, which is not installed", remedy=_EXTRA) from None
