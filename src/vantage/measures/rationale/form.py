"""What single rationales are like: how long, how much is copied from the source, how sure, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import IntervalOptions
from vantage.measures.parts import names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Ints, Judgments, has_column
from vantage.measures.rationale.agreement import rationale_column, with_rationales
from vantage.measures.rationale.overlap import Word, word_places
from vantage.measures.resampling import Resampling, mean_with_interval, ratio
from vantage.measures.texts.tokens import CutTexts

_HEDGES: Final = """
apparently appear appears appeared arguably assume assumed assumes could doubtful guess guesses hints imply implied
implies indicate indicates likely maybe might perhaps plausible plausibly possible possibly potentially presumably
probable probably seem seemed seemingly seems somewhat suggest suggested suggests suppose supposedly tend tends
unclear unlikely unsure
"""
HEDGES: Final = frozenset(_HEDGES.split())
"""English words that take back some of a claim, in the sense of Hyland (1998); `may` and `would` have too many other
uses to count."""
_SILENT: Final = r"""(?ix)
    \b(?:does|do|did|is|are|was|were)(?:\s+not|n['’]t)\s+(?:really\s+|explicitly\s+|directly\s+|actually\s+|clearly\s+)*
      (?:mention|address|say|state|talk|speak|discuss|provide|indicate|specify|express|refer|tell|give|touch|
         (?:mentioned|addressed|stated|discussed|specified|indicated|provided|clear)\b)
    | \bno\s+(?:mention|indication|information|evidence|reference|discussion)\b
    | \b(?:never|nowhere)\s+(?:mentions?|says?|states?|addresses|talks?|discusses)\b
    | \bnot\s+(?:explicitly\s+|directly\s+|clearly\s+)?(?:mentioned|addressed|stated|discussed|specified|indicated)\b
    | \bfails?\s+to\s+(?:mention|address|say|state|discuss)\b
    """


def says_nothing(texts: pl.Series) -> pl.Series:
    """Whether each rationale says, anywhere, that the text does not tell.

    >>> says_nothing(pl.Series(["The narrator doesn't really talk about it.", "They blame the office."])).to_list()
    [True, False]
    """
    return texts.str.contains(_SILENT)


def fragments(text: Iterable[Word], places: Mapping[Word, int]) -> list[int]:
    """The lengths of the longest runs of words that the source has too (Grusky et al. 2018), left to right.

    `places` gives the places of each word in the source.

    >>> fragments("he says the office is slow".split(), word_places("the office is slow , I say".split()))
    [4]
    """
    lengths, run, ends = [], 0, 0
    for word in text:
        here = places.get(word, 0)
        # A run continues wherever the source has the next word right after it.
        if further := ends << 1 & here:
            run, ends = run + 1, further
            continue
        if run:
            lengths.append(run)
        run, ends = 1 if here else 0, here
    return [*lengths, run] if run else lengths


OF_SOURCE: Final = ("novel bigrams", "coverage", "density", "longest copy")
PROPERTIES: Final = ("words", "hedging", "says nothing", *OF_SOURCE)
"""Properties of a rationale, from its text and that of the item."""


def form(texts: Sequence[str], sources: Sequence[str]) -> dict[str, Floats]:
    """The properties of every text, by name, against its source; NaN where there are no words to count.

    >>> shown = form(["I seem to hate the office", "…"], ["We hate the office", "so be it"])
    >>> {name: [round(value, 2) for value in values.tolist()] for name, values in shown.items() if name != "words"}
    {'hedging': [0.17, nan], 'says nothing': [0.0, 0.0], 'novel bigrams': [0.6, nan], 'coverage': [0.5, nan], \
'density': [1.5, nan], 'longest copy': [0.5, nan]}
    """
    different = {source: place for place, source in enumerate(dict.fromkeys(sources))}
    tokens = CutTexts.of([*texts, *different])
    source = np.array([different[one] for one in sources], dtype=np.int64)
    every = list(tokens.lists())
    places = [word_places(words) for words in every[len(texts) :]]
    runs = [fragments(words, places[one]) for words, one in zip(every, source.tolist(), strict=False)]
    size = tokens.sizes[: len(texts)]
    hedges = np.array([word in HEDGES for word in tokens.known], dtype=np.float64)[tokens.numbers]
    of = np.repeat(np.arange(len(every)), tokens.sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "words": size.astype(np.float64),
            "hedging": np.bincount(of, hedges, len(every))[: len(texts)] / size,
            "says nothing": says_nothing(pl.Series(texts, dtype=pl.String)).to_numpy().astype(np.float64),
            "novel bigrams": _novel(tokens, source),
            "coverage": np.array([sum(lengths) for lengths in runs]) / size,
            "density": np.array([sum(length**2 for length in lengths) for lengths in runs]) / size,
            "longest copy": np.array([max(lengths, default=0) for lengths in runs]) / size,
        }


def _novel(tokens: CutTexts, source: Ints) -> Floats:
    """The share of each text's bigrams that its source, which stands behind all texts, does not have."""
    text, gram = tokens.ngrams(2)
    gram = np.unique(gram, return_inverse=True)[1]
    mine = text < len(source)
    theirs = (text[~mine] - len(source)) * len(gram) + gram[~mine]
    new = ~np.isin(source[text[mine]] * len(gram) + gram[mine], theirs)
    sums = [np.bincount(text[mine], each, len(source)) for each in (new, np.ones(len(new)))]
    return ratio(np.column_stack(sums))


VIEW: Final = View("The form of the reasons given", columns={"estimate": Column(digits=2)})


@measure("rationale-form", family="rationales", view=VIEW, pools_questions=True, interval=("sources",))
def rationale_form(
    data: Judgments,
    *,
    by: By = "rater",
    properties: Sequence[str] = PROPERTIES,
    source: str = "text",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """What rationales are like: length, hedging, how often they say that the text does not tell, and copying.

    One row per group and `property`, its mean over rationales: `words`; `hedging` (share of words that are hedges);
    `says nothing` (share with a phrase like "does not mention"); and, against the item's column `source`, `novel
    bigrams`, `coverage` and `density` of runs of words from it (Grusky et al. 2018) and the `longest copy` as a share
    of the text. Word lists are English. Intervals resample items.

    >>> table = pl.DataFrame({"item": ["a", "b"], "rater": "x", "value": [1, 2], "text": ["I hate it", "so be it"],
    ...                       "rationale": ["They say: I hate it", "It seems fine"]})
    >>> result = rationale_form(table, properties=["words", "longest copy"], ci="none")
    >>> result.select("property", "estimate").rows()
    [('words', 4.0), ('longest copy', 0.466...)]
    """
    for name in properties:
        if name not in PROPERTIES:
            raise InputError(f"there is no property '{name}'", remedy=nearest(name, PROPERTIES))
    needed = rationale_column(data)
    with_source = has_column(data, source)
    how = Resampling(**resampling)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[*needed, *([source] if with_source else [])]):
        reasons = with_rationales(part.frame)
        about = reasons[source].cast(pl.String).fill_null("").to_list() if with_source else [""] * len(reasons)
        values = form(reasons["rationale"].to_list(), about)
        for name in properties:
            row: dict[str, Any] = {**part.key, "property": name}
            if name in OF_SOURCE and not with_source:
                rows.append({**row, "reason": f"the items have no column '{source}'"})
                continue
            known = ~np.isnan(values[name])
            used = reasons.filter(pl.Series(known, dtype=pl.Boolean))
            if len(used):
                row |= mean_with_interval(used["item"], values[name][known], how)
            else:
                row["reason"] = "there are no rationales"
            missing = len(part.frame) - len(used)
            row |= {"items": used["item"].n_unique(), "raters": used["rater"].n_unique(), "judgments": len(used)}
            rows.append({**row, "left_out": {"no rationale": missing} if missing else {}})
    return table(rows, names(by))
