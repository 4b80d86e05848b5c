"""The Spectrum: every text is one column of people's answers as shares, sorted from one end of the scale to the other.

It shows at a glance how many texts people agree on, and where they do not; models stand below in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Question
from vantage.measures.ratings import Floats, Ints
from vantage.report.cells import counted, shortened
from vantage.report.distributions import AnswerCounts, answers_of, counted_answers, text_of_items
from vantage.report.parts import Figure, Part
from vantage.report.style import scale_colours
from vantage.scales import Scale

if TYPE_CHECKING:
    from vantage.report.engine import Analysis

COLUMNS: Final = 400
"""More texts than this are drawn in so many columns of neighbours."""
QUESTIONS: Final = 4
"""So many questions are drawn."""
MODELS: Final = 3
"""So many raters stand below people."""
PINNED: Final = 3
"""So many of the most divisive texts are named."""
NEAR: Final = 0.04
"""Named texts are at least this share of the width apart."""
WIDE: Final = 0.25
"""Two people who are a quarter of a scale of several steps apart, on average, are divided strongly."""
ALIKE: Final = 2 / 3
"""Where answers are two, or have no order: if fewer than this share give the same one."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Texts from one end of a scale to the other, each a column of its own; of many, neighbours share one."""

    counts: AnswerCounts
    order: Ints
    """The places of the texts in the corpus."""

    @classmethod
    def of(cls, counts: AnswerCounts, group: int = 0) -> Spectrum:
        """The texts that a group judged, by its mean answer, or by the shares of the answers in their order."""
        judged = np.flatnonzero(~np.isnan(counts.shares[:, group, 0]))
        shares = counts.shares[judged, group]
        keys = [-shares[:, at] for at in reversed(range(shares.shape[1]))]
        if counts.question.scale.ordered:
            # Where neighbours share a column, those with the same mean are mixed; sorted further, they draw teeth.
            keys = [*(keys if len(judged) <= COLUMNS else []), counts.means[judged, group].round(9)]
        return cls(counts, np.asarray(judged[np.lexsort(keys)]))

    @property
    def column(self) -> Ints:
        """The column of each text."""
        return np.arange(len(self.order)) * min(len(self.order), COLUMNS) // max(len(self.order), 1)

    def shares(self, group: int) -> Floats:
        """The mean distribution of a group in each column; not a number where it judged none of its texts."""
        return self._means(self.counts.shares[self.order, group])

    @property
    def disagreement(self) -> Floats:
        """The mean distance of two people's answers in each column, as a share of the scale."""
        return np.asarray(self._means(self.counts.disagreement[self.order, None])[:, 0])

    @property
    def texts(self) -> Ints:
        """How many texts a column holds."""
        return np.bincount(self.column)

    def pins(self) -> list[int]:
        """The places in the order of the texts about which most people are divided most."""
        n = self.counts.n[self.order, 0]
        # Two people who differ are no more divided than twenty of whom ten do.
        evenly = np.nan_to_num(self.counts.disagreement[self.order]) * (n - 1) / np.maximum(n, 1)
        pins: list[int] = []
        for at in np.lexsort([-n, -evenly.round(9)]):
            if len(pins) == PINNED or evenly[at] <= 0:
                break
            # Neighbours would hide each other.
            if all(abs(int(at) - other) >= NEAR * len(self.order) for other in pins):
                pins.append(int(at))
        return sorted(pins)

    def _means(self, values: Floats) -> Floats:
        """The means of each column over the texts that have a value."""
        there, column = ~np.isnan(values[:, 0]), self.column
        number = np.bincount(column[there], minlength=len(self.texts))
        sums = [np.bincount(column[there], part, minlength=len(number)) for part in values[there].T]
        means = np.column_stack(sums) if sums else np.zeros((len(number), 0))
        return np.asarray(means / np.where(number > 0, number, np.nan)[:, None])


def colours_of(question: Question) -> list[str]:
    """The colours of the answers to a question, in every picture of them."""
    scale, names = question.scale, answers_of(question)[1]
    return [*scale_colours(names, ordered=scale.ordered, bipolar=bipolar(scale)).values()]


def bipolar(scale: Scale) -> bool:
    """Whether a scale runs from below zero to above it, through a middle that is neither."""
    return scale.ordered and min(scale.ends) < 0 < max(scale.ends)


def division(counts: AnswerCounts) -> dict[str, Any]:
    """How many texts people are unanimous about, how many divide them strongly, and that as a sentence."""
    several = counts.n[:, 0] > 1
    texts = int(several.sum())
    unanimous = int((counts.disagreement[several] < 1e-9).sum())
    if counts.question.scale.ordered and len(counts.codes) > 2:
        divided = np.nan_to_num(counts.disagreement) >= WIDE - 1e-9
    else:
        divided = np.nan_to_num(counts.shares[:, 0], nan=1.0).max(axis=1, initial=0) < ALIKE - 1e-9
    strongly = int(divided[several].sum())
    who = {"people": "people", "all raters": "raters"}.get(counts.groups[0] if counts.groups else "", "them")
    alike = f"{unanimous / texts:.0%} of {counted(texts, 'text')} are" if unanimous else f"No text of {texts:,} is"
    said = f"{alike} unanimous; {strongly / texts:.0%} divide {who} strongly.".replace("%", " %") if texts else None
    shares = {"unanimous": unanimous / max(texts, 1), "strongly": strongly / max(texts, 1)}
    return {"question": counts.question.id, "texts": texts, **shares, "said": said}


def divisions(analysis: Analysis) -> pl.DataFrame | None:
    """How many texts people are unanimous about, and how many divide them strongly, by question."""
    rows = [division(counts) for _, counts in counted_answers(analysis.corpus)]
    # One question has a sentence of its own, several share one.
    one = {"said": None} if len(rows) > 1 else {}
    named = [{**row, **one, "several": row["question"] if one else None} for row in rows]
    return pl.DataFrame(named, infer_schema_length=None) if rows else None


def spectrum(analysis: Analysis) -> list[Part]:
    """The Spectrum of the first questions; of a question asked in several conditions, one of each beside the others."""
    said, parts = text_of_items(analysis.corpus), list[Part]()
    for question, counts in counted_answers(analysis.corpus):
        if len(parts) == QUESTIONS:
            break
        caption = f"the answers to {question.title or question.id} as shares"
        further = " Other raters are below, in the same order." if len(counts.groups) > 1 else ""
        parts.append(_figure("spectrum", len(parts), Spectrum.of(counts), [], said, caption, further))
    return parts


def beside(corpora: Mapping[str, Corpus]) -> list[Part]:
    """The Spectra of several corpora, beneath each other: the texts that all of them judged, in one order."""
    first = next(iter(corpora.values()))
    said, parts = text_of_items(first), list[Part]()
    for question, _ in counted_answers(first):
        asked = [part for part in corpora.values() if question.id in {one.id for one in part.questions}]
        if len(parts) == QUESTIONS or len(asked) < len(corpora):
            continue
        of = [
            AnswerCounts.of(_about(first.items, one), one.question(question.id)).first(name)
            for one, name in zip(asked, corpora, strict=True)
        ]
        both = np.logical_and.reduce([one.n[:, 0] > 0 for one in of])
        if both.any() and all(answers_of(one.question)[1] == answers_of(question)[1] for one in of):
            whole = Spectrum.of(of[0])
            drawn = Spectrum(of[0], whole.order[both[whole.order]])
            caption = f"the answers to {question.title or question.id} as shares in {' and '.join(corpora)}"
            parts.append(_figure("beside", len(parts), drawn, of[1:], said, caption, " All are in the same order."))
    return parts


def conditions(analysis: Analysis) -> list[Part] | None:
    """The Spectra of the conditions in which people judged the same texts."""
    people = analysis.people
    named = people.judgments["condition"].unique(maintain_order=True).to_list()
    several = {name or "no condition": people.filter(condition=name) for name in named[: MODELS + 1]}
    return beside(several) or None if len(several) > 1 else None


def _about(items: pl.DataFrame, corpus: Corpus) -> Corpus:
    """What a corpus says of some items, so that their places are the same as in another."""
    judged = corpus.judgments.join(items, on="item", how="semi", maintain_order="left")
    return Corpus(items, corpus.raters, judged, corpus.instruments, corpus.about)


def _figure(
    name: str,
    place: int,
    drawn: Spectrum,
    further: Sequence[AnswerCounts],
    said: Mapping[str, str],
    caption: str,
    note: str,
) -> Figure:
    question, many = drawn.counts.question, len(drawn.order)
    names = answers_of(question)[1]
    options: dict[str, Any] = {"order": list(names), "colours": colours_of(question)}
    pinned = [(at, drawn.counts.items[int(drawn.order[at])]) for at in drawn.pins()]
    options["pins"] = [[(at + 0.5) / many, shortened(said.get(item) or item, 90)] for at, item in pinned]
    by, apart = f"the share of {names[0]}", "share of pairs of answers that differ"
    if question.scale.ordered:
        by, apart = "their mean", "mean distance between two answers as a share of the scale"
    text = f"Every text is a column: {caption}, sorted by {by}; the strip below shows disagreement, the {apart}.{note}"
    if many > COLUMNS:
        text += f" Each column is the mean of about {round(many / COLUMNS)} neighbouring texts."
    frame = _columns([drawn, *(Spectrum(one, drawn.order) for one in further)], names)
    return Figure(name if not place else f"{name}-{place + 1}", text, "", "spectrum", frame, options)


def _columns(sides: Sequence[Spectrum], names: tuple[str, ...]) -> pl.DataFrame:
    """One row for each column, rater and answer."""
    rows: list[pl.DataFrame] = []
    for drawn in sides:
        for group, who in enumerate(drawn.counts.groups[: MODELS + 1]):
            shares = drawn.shares(group)
            apart = drawn.disagreement if not rows else np.full(len(shares), np.nan)
            frame = pl.DataFrame({"column": np.arange(len(shares)), "texts": drawn.texts, "disagreement": apart})
            parts = [frame.with_columns(answer=pl.lit(name), share=shares[:, at]) for at, name in enumerate(names)]
            rows.append(pl.concat(parts).with_columns(who=pl.lit(who)).filter(pl.col("share").is_not_nan()))
    return pl.concat(rows).with_columns(pl.col("disagreement").fill_nan(None))
