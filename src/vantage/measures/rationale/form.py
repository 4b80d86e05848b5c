"""What single rationales are like: how long, how much is copied from the source, how sure, and what they leave open."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import Method
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Judgments
from vantage.measures.resampling import Resampled, Resampling, mean_with_interval
from vantage.measures.scoring.references import has_column
from vantage.measures.texts.diversity import words

_HEDGES: Final = """
apparently appear appears appeared arguably assume assumed assumes could doubtful guess guesses hints imply implied
implies indicate indicates likely maybe might perhaps plausible plausibly possible possibly potentially presumably
probable probably seem seemed seemingly seems somewhat suggest suggested suggests suppose supposedly tend tends
unclear unlikely unsure
"""
HEDGES: Final = frozenset(_HEDGES.split())
"""English words that take back some of a claim, in the sense of Hyland (1998); `may` and `would` have too many other
uses to count."""
_SILENT: Final = re.compile(
    r"""(?ix)
    \b(?:does|do|did|is|are|was|were)(?:\s+not|n['’]t)\s+(?:really\s+|explicitly\s+|directly\s+|actually\s+|clearly\s+)*
      (?:mention|address|say|state|talk|speak|discuss|provide|indicate|specify|express|refer|tell|give|touch|
         (?:mentioned|addressed|stated|discussed|specified|indicated|provided|clear)\b)
    | \bno\s+(?:mention|indication|information|evidence|reference|discussion)\b
    | \b(?:never|nowhere)\s+(?:mentions?|says?|states?|addresses|talks?|discusses)\b
    | \bnot\s+(?:explicitly\s+|directly\s+|clearly\s+)?(?:mentioned|addressed|stated|discussed|specified|indicated)\b
    | \bfails?\s+to\s+(?:mention|address|say|state|discuss)\b
    """
)


def says_nothing(text: str) -> bool:
    """Whether a rationale says, anywhere, that the text does not tell.

    >>> says_nothing("The narrator doesn't really talk about fairness."), says_nothing("They blame the office.")
    (True, False)
    """
    return bool(_SILENT.search(text))


def hedging(text: str) -> float | None:
    """The share of words that are hedges; null without words.

    >>> hedging("They seem to feel guilty")
    0.2
    """
    tokens = _words(text)
    return sum(word in HEDGES for word in tokens) / len(tokens) if tokens else None


@lru_cache(maxsize=16384)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text; many rationales are about one source."""
    return tuple(words(text))


@lru_cache(maxsize=1024)
def _starts(source: str) -> dict[str, list[int]]:
    """Where each word of a source stands."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(_words(source)):
        places.setdefault(word, []).append(place)
    return places


@lru_cache(maxsize=16384)
def fragments(text: str, source: str) -> tuple[int, ...]:
    """The lengths of the longest runs of words that stand in the source too (Grusky et al. 2018), left to right.

    >>> fragments("he says the office is slow", "The office is slow, I say.")
    (4,)
    """
    mine, theirs, starts = _words(text), _words(source), _starts(source)
    lengths, here = [], 0
    while here < len(mine):
        longest = 0
        for start in starts.get(mine[here], ()):
            run = 1
            while here + run < len(mine) and start + run < len(theirs) and mine[here + run] == theirs[start + run]:
                run += 1
            longest = max(longest, run)
        if longest:
            lengths.append(longest)
        here += longest or 1
    return tuple(lengths)


def novelty(text: str, source: str, n: int = 2) -> float | None:
    """The share of the text's n-grams that the source does not have; null where the text has none.

    >>> novelty("the office is to blame", "the office is slow")
    0.5
    """
    mine, theirs = _ngrams(_words(text), n), _source_ngrams(source, n)
    return sum(gram not in theirs for gram in mine) / len(mine) if mine else None


def coverage(text: str, source: str) -> float | None:
    """The share of words that belong to a run of words of the source (Grusky et al. 2018)."""
    tokens = _words(text)
    return sum(fragments(text, source)) / len(tokens) if tokens else None


def density(text: str, source: str) -> float | None:
    """The mean length of the run that a word belongs to (Grusky et al. 2018): high where long passages are copied."""
    tokens = _words(text)
    return sum(length**2 for length in fragments(text, source)) / len(tokens) if tokens else None


def copied(text: str, source: str) -> float | None:
    """The longest run of words that is copied from the source, as a share of the text."""
    tokens = _words(text)
    return max(fragments(text, source), default=0) / len(tokens) if tokens else None


PROPERTIES: Final[dict[str, Callable[[str, str], float | None]]] = {
    "words": lambda text, _: float(len(_words(text))),
    "hedging": lambda text, _: hedging(text),
    "says nothing": lambda text, _: float(says_nothing(text)),
    "novel bigrams": novelty,
    "coverage": coverage,
    "density": density,
    "longest copy": copied,
}
"""Properties of a rationale, from its text and that of the item."""
OF_SOURCE: Final = ("novel bigrams", "coverage", "density", "longest copy")


VIEW: Final = View("The form of the reasons given", columns={"estimate": Column(digits=2)})


@measure("rationale-form", family="rationales", view=VIEW)
def rationale_form(
    data: Judgments,
    *,
    by: By = "rater",
    properties: Sequence[str] = tuple(PROPERTIES),
    source: str = "text",
    ci: Resampled = "auto",
    interval: Method = "percentile",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """What rationales are like: length, hedging, how often they say that the text does not tell, and copying.

    One row per group and `property`, its mean over rationales: `words`; `hedging` (share of words that are hedges);
    `says nothing` (share of rationales with a phrase like "does not mention"); and, against the item's column
    `source`, `novel bigrams` (share that the source does not have), `coverage` and `density` of runs of words from the
    source (Grusky et al. 2018) and the `longest copy` as a share of the text. Word lists are English. Intervals
    resample items.

    >>> table = pl.DataFrame({"item": ["a", "b"], "rater": "x", "value": [1, 2], "text": ["I hate it", "so be it"],
    ...                       "rationale": ["They say: I hate it", "It seems fine"]})
    >>> result = rationale_form(table, properties=["words", "longest copy"], ci="none")
    >>> result.select("property", "estimate").rows()
    [('words', 4.0), ('longest copy', 0.466...)]
    """
    for name in properties:
        if name not in PROPERTIES:
            raise InputError(f"there is no property '{name}'", remedy=nearest(name, list(PROPERTIES)))
    if not has_column(data, "rationale"):
        raise InputError("the judgments have no column 'rationale'", remedy="this measure looks at written reasons")
    with_source = has_column(data, source)
    how = Resampling(ci, interval, resamples, confidence, seed)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=["rationale", *([source] if with_source else [])]):
        reasons = part.frame.filter(pl.col("rationale").cast(pl.String).str.strip_chars().str.len_chars() > 0)
        about = reasons[source].to_list() if with_source else [""] * len(reasons)
        # Text by text, since properties share what is found in one.
        each = [
            [PROPERTIES[name](text, str(s or "")) for name in properties]
            for text, s in zip(reasons["rationale"], about, strict=True)
        ]
        for place, name in enumerate(properties):
            row: dict[str, Any] = {**part.key, "property": name}
            if name in OF_SOURCE and not with_source:
                rows.append({**row, "reason": f"the items have no column '{source}'"})
                continue
            values = [row_values[place] for row_values in each]
            known = np.array([value is not None for value in values], dtype=bool)
            used = reasons.filter(pl.Series(known, dtype=pl.Boolean))
            if len(used):
                numbers = np.array([value for value in values if value is not None], dtype=np.float64)
                row |= mean_with_interval(used["item"], numbers, how)
            else:
                row["reason"] = "there are no rationales"
            missing = len(part.frame) - len(used)
            row |= {"items": used["item"].n_unique(), "raters": used["rater"].n_unique(), "judgments": len(used)}
            rows.append({**row, "left_out": {"no rationale": missing} if missing else {}})
    return table(rows, names(by))


@lru_cache(maxsize=1024)
def _source_ngrams(source: str, n: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_ngrams(_words(source), n))


def _ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[i:] for i in range(n)), strict=False))
