"""Raters: people, models and personas in one table, with their quality, and one of them against the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures.variance.rater_quality import rater_quality
from vantage.report import AnswerCounts, answer_places, answers_of

ANSWERS: Final = 200
"""How many answers of one rater are listed, those farthest from the others first."""
LISTED: Final = ("item", "text", "value", "status", "others", "apart", "rationale")
SORTS: Final = ("flags", "estimate", "bias", "spread", "agreement", "answers", "rater")
NUMBERS: Final = ("estimate", "low", "high", "bias", "spread", "agreement", "top_share", "opt_outs", "seconds")


@dataclass(frozen=True, slots=True)
class RaterTable:
    """The quality of every rater about one question."""

    corpus: Corpus
    question: Question
    frame: pl.DataFrame

    @classmethod
    def of(cls, corpus: Corpus, question: Question) -> RaterTable:
        """How raters follow the others, with flags; where answers have no distances, how often others say the same."""
        own = corpus.filter(question=question.id)
        counts = own.judgments.group_by("rater").agg(judgments=pl.len(), answers=pl.col("value").count())
        raters = own.raters.join(counts, on="rater", how="left", maintain_order="left")
        if own.judgments["rater"].n_unique() > 1:
            quality = _beside_people(own) if question.scale.has_distances else _sameness(own)
            columns = ["rater", "flags", *(name for name in NUMBERS if name in quality.columns)]
            raters = raters.join(quality.select(columns), on="rater", how="left", maintain_order="left")
        unknown = {"flags": pl.lit([], pl.List(pl.String)), **dict.fromkeys(NUMBERS, pl.lit(None, pl.Float64))}
        raters = raters.with_columns(**{name: value for name, value in unknown.items() if name not in raters.columns})
        if question.scale.slides:
            # Nobody moves a slider to the very same place.
            raters = raters.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("agreement", "top_share"))
        return cls(corpus, question, raters.with_columns(pl.col("kind").cast(pl.String)))

    def page(
        self, page: int, size: int, *, search: str = "", kind: str = "", sort: str = "flags", descending: bool = True
    ) -> dict[str, Any]:
        """Raters of a page, searched, filtered and sorted."""
        if sort not in SORTS:
            raise InputError(f"raters cannot be sorted by '{sort}'", remedy=nearest(sort, SORTS))
        frame = self.frame.filter(kind=kind) if kind else self.frame
        if search:
            frame = frame.filter(pl.col("rater").str.to_lowercase().str.contains(search.casefold(), literal=True))
        order = (
            [pl.col("flags").list.len().fill_null(0), -pl.col("estimate").fill_null(1.0)] if sort == "flags" else [sort]
        )
        frame = frame.sort(*order, "rater", descending=[*([descending] * len(order)), False], nulls_last=True)
        rows = [self._row(row) for row in frame.slice(page * size, size).iter_rows(named=True)]
        return {"total": len(frame), "page": page, "size": size, "rows": rows, "traits": self.corpus.traits}

    def one(self, rater: str, counts: AnswerCounts) -> dict[str, Any]:
        """A rater with the use of the scale and the answers that are farthest from the others'."""
        mine = self.frame.filter(pl.col("rater") == rater)
        if mine.is_empty():
            raise InputError(f"there is no rater '{rater}'", remedy="choose one from the list of raters")
        question = self.question
        judged = self.corpus.judgments.filter(rater=rater, question=question.id)
        codes, labels, ticks = answers_of(question)
        given = judged["value"].drop_nulls().to_numpy()
        use = np.bincount(answer_places(given, question, codes), minlength=len(codes))
        # A rater is not one of the others.
        among = mine["kind"][0] in PEOPLE or counts.groups[0] == "all raters"
        among &= rater in set(self.corpus.included().raters["rater"])
        every = pl.DataFrame({"item": counts.items, "all": counts.totals[:, 0], "n": counts.n[:, 0]})
        rows = judged.with_columns(total=pl.col("value").fill_null(0.0), given=pl.col("value").is_not_null())
        rows = rows.join(every, on="item", how="left").join(self.corpus.items, on="item", how="left")
        left = pl.col("n") - pl.col("given").sum().over("item") * int(among)
        total = pl.col("all") - pl.col("total").sum().over("item") * int(among)
        rows = rows.with_columns(others=pl.when(left > 0).then(total / left))
        rows = rows.with_columns((pl.col("value") - pl.col("others")).alias("apart"))
        rows = rows.sort(pl.col("apart").abs(), descending=True, nulls_last=True)
        shown = [name for name in LISTED if name in rows.columns]
        return {
            **self._row(mine.row(0, named=True)),
            "question": question.id,
            "labels": labels,
            "ticks": ticks,
            "use": use.tolist(),
            "others_use": (counts.counts[:, 0, :].sum(axis=0) - use * among).tolist(),
            "total": len(rows),
            "listed": rows.select(shown).head(ANSWERS).fill_nan(None).to_dicts(),
        }

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        quality = {name: row[name] for name in ("rater", "kind", "judgments", "answers", *NUMBERS)}
        known = {*quality, "flags"}
        traits = {name: str(value) for name, value in row.items() if name not in known and value is not None}
        return {**quality, "flags": row["flags"] or [], "traits": traits}


def _sameness(corpus: Corpus) -> pl.DataFrame:
    """How often others give the same answer as a rater, and how often the rater gives one: without an order."""
    there = corpus.included()
    people = there.people()
    votes = (there if people.judgments.is_empty() else people).judgments.drop_nulls("value")
    own = pl.col("rater").is_in(votes["rater"].unique().implode()).cast(pl.Int64)
    rows = corpus.judgments.drop_nulls("value").select("item", "rater", "value")
    rows = rows.join(votes.group_by("item", "value").len("same"), on=["item", "value"], how="left")
    rows = rows.join(votes.group_by("item").len("others"), on="item", how="left")
    same, others = ((pl.col(name).fill_null(0).cast(pl.Int64) - own).sum() for name in ("same", "others"))
    agreement, top = pl.when(others > 0).then(same / others), pl.col("value").unique_counts().max() / pl.len()
    return rows.group_by("rater").agg(agreement=agreement, top_share=top, flags=pl.lit([], pl.List(pl.String)))


def _beside_people(corpus: Corpus) -> pl.DataFrame:
    """The quality of people among people, and of every other rater alone among people, if there are any."""
    people = corpus.people()
    if people.judgments.is_empty():
        return rater_quality(corpus, kinds="all")
    names = people.raters["rater"].to_list()
    others = [name for name in corpus.raters["rater"] if name not in set(names)]
    alone = [rater_quality(corpus.filter(rater=[*names, one]), kinds="all").filter(rater=one) for one in others]
    return pl.concat([rater_quality(people), *alone], how="diagonal_relaxed")
