"""What raters expect of others against what others answer, and how sure they are against how many agree with them.

An instrument says which questions ask for that (`others`, `confidence`). Of people who forecast, each is compared with
the other people of an item, never with their own answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import IntervalOptions, student_interval
from vantage.measures.parts import scales_of
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import Floats, Judgments, has_column
from vantage.measures.resampling import Resampling, mean_with_interval
from vantage.measures.scoring.references import with_people
from vantage.scales import Scale

SHARES: Final = "probabilities"
NOBODY: Final = "no item has somebody else's answer beside the forecast"

VIEW: Final = View(
    "What raters expect of others",
    columns={name: Column(digits=3) for name in ("estimate", "best", "share", "expected")},
    show=(
        "score",
        "item",
        "answer",
        "popular",
        "share",
        "expected",
        "estimate",
        "best",
        "items",
        "judgments",
        "reason",
    ),
    notes=(
        "A brier score is lower the better the forecast, and best is what the others' own shares would reach; false "
        "consensus and overconfidence are above 0 if raters overestimate how many answer as they do.",
    ),
    method="What raters expected of others was compared with the answers of the other people.",
    sources=("ross1977", "prelec2017"),
)


@measure("expectations", "accuracy", view=VIEW, pools=False, interval=("sources",))
def expectations(
    data: Judgments,
    *,
    question: str | None = None,
    others: str | None = None,
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    per: Literal["score", "item"] = "score",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """What raters expect of others, how sure they are, and what the other people of an item answer.

    `brier` is Σ (p − 1[answer])² of a forecast p (Brier 1950), averaged over the answers of the others, and `best` what
    the others' shares reach for each other. `false_consensus` is how much larger a share raters expect for their own
    answer than it has among the others (Ross, Greene and House 1977); it is 0 on average where they know. In the same
    way `overconfidence` is how sure raters are, from 0 to 1 along the scale, less the share of others who agree: a
    statement about chances only where the scale asks for chances.

    With `per="item"` there is a row for each item: the `answer` whose share is furthest above what is expected of it,
    the surprisingly popular one (Prelec, Seung and McCoy 2017), beside the `popular` one. `estimate` is its share less
    the expected one, with Student's interval over raters.

    Questions `others` and what they are about come from the instrument; `question` chooses one, and `others` names the
    forecast in a plain table. Forecasters are people, or `raters`; a forecast without shares is all on one answer.

    >>> answers = {"item": [*"aaaaaa"], "rater": [*"pqrpqr"], "question": ["own"] * 3 + ["others"] * 3}
    >>> answers |= {"value": [0, 1, 1, 0, 1, 1], "probabilities": [None] * 3 + [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]}
    >>> row = expectations(answers, question="own", others="others", people=[*"pqr"], per="item")
    >>> row.select("answer", "popular", "share", "expected").rows()
    [(1.0, 1.0, 0.666..., 0.366...)]
    """
    how = Resampling(**resampling)
    beside = [SHARES] if has_column(data, SHARES) else []
    frame, person = with_people(data, beside, people)
    frame = frame.filter(pl.col("value").is_not_null(), pl.col("sample") == 0)
    known = frame["rater"].cast(pl.String).unique().to_list()
    for name in raters or ():
        if str(name) not in known:
            raise InputError(f"there is no rater '{name}'", remedy=nearest(str(name), known))
    rows: list[dict[str, Any]] = []
    for asked, name, score in _links(data, question, others):
        answers = frame.filter(person, pl.col("question") == asked)
        chosen = person if raters is None else pl.col("rater").cast(pl.String).is_in([str(one) for one in raters])
        given = frame.filter(chosen, pl.col("question") == name)
        scale = scales_of(data).get(asked)
        about = Forecasts.of(answers, given, scale, scales_of(data).get(name) if score == "overconfidence" else None)
        if per == "score":
            rows += [{"question": asked, **row} for row in about.scored(score, how)]
        elif score == "brier":
            rows += [{"question": asked, **row} for row in about.by_item(how.confidence)]
    return table(rows, "question")


def _links(data: Judgments, question: str | None, others: str | None) -> list[tuple[str, str, str]]:
    """What is asked about which question: the question, the one about it, and the score."""
    if others is not None:
        if question is None:
            raise InputError("no question names the answers that others give", remedy="pass question")
        return [(question, others, "brier")]
    asked = getattr(data, "questions", ())
    links = [(one.others, one.id, "brier") for one in asked if one.others]
    links += [(one.confidence, one.id, "overconfidence") for one in asked if one.confidence]
    chosen = [link for link in links if question in (None, link[0])]
    if not chosen:
        remedy = nearest(question, [link[0] for link in links]) if question and links else "pass question and others"
        raise InputError("no question asks what others answer, or how sure a rater is", remedy=remedy)
    return chosen


@dataclass(frozen=True, slots=True)
class Forecasts:
    """One row for each forecast of a rater about an item that others answered."""

    codes: list[float]
    item: pl.Series
    p: Floats
    """The forecast, or how sure the rater is in the first column."""
    counts: Floats
    """The answers of the others."""
    own: Floats
    """The rater's own answer, with 1 at its code; all 0 where there is none."""

    @classmethod
    def of(cls, answers: pl.DataFrame, given: pl.DataFrame, scale: Scale | None, sure: Scale | None) -> Forecasts:
        """Forecasts beside the answers of people to the question that they are about."""
        codes = sorted({*answers["value"], *(() if scale is None else scale.codes)})
        place = {code: n for n, code in enumerate(codes)}
        votes: dict[tuple[Any, ...], Floats] = {}
        of_rater: dict[tuple[Any, ...], int] = {}
        for item, condition, rater, value in answers.select("item", "condition", "rater", "value").iter_rows():
            votes.setdefault((item, condition), np.zeros(len(codes)))[place[value]] += 1
            of_rater[item, condition, rater] = place[value]
        items, forecasts, counts, own = [], [], [], []
        eye = np.eye(len(codes))
        order = np.argsort(scale.codes) if scale is not None and scale.codes else np.arange(len(codes))
        for row in given.iter_rows(named=True):
            unit = (row["item"], row["condition"])
            mine = eye[of_rater[*unit, row["rater"]]] if (*unit, row["rater"]) in of_rater else np.zeros(len(codes))
            rest = votes.get(unit, np.zeros(len(codes))) - mine
            if not rest.sum():
                continue
            if sure is not None:
                low, high = sure.ends
                forecast = np.full(len(codes), (row["value"] - low) / (high - low))
            else:
                shares = row.get(SHARES)
                forecast = eye[place[row["value"]]] if shares is None else np.array(shares)[: len(codes)][order]
            items.append(row["item"])
            forecasts.append(forecast)
            counts.append(rest)
            own.append(mine)
        shape = (len(items), len(codes))
        arrays = (np.array(part, dtype=np.float64).reshape(shape) for part in (forecasts, counts, own))
        return cls(codes, pl.Series(items, dtype=given.schema["item"]), *arrays)

    def scored(self, score: str, how: Resampling) -> Iterator[dict[str, Any]]:
        """The rows of the scores."""
        if not len(self.item):
            yield {"score": score, "estimate": None, "reason": NOBODY}
            return
        sizes = self.counts.sum(axis=1)
        shares = self.counts / sizes[:, None]
        if score == "brier":
            units = 1 - 2 * (shares * self.p).sum(axis=1) + np.square(self.p).sum(axis=1)
            several = sizes > 1
            best = (sizes / np.maximum(sizes - 1, 1) * (1 - np.square(shares).sum(axis=1)))[several]
            yield {
                "score": score,
                "best": float(best.mean()) if several.any() else None,
                "judgments": len(units),
                **mean_with_interval(self.item, units, how),
            }
        answered = self.own.any(axis=1)
        name = "false_consensus" if score == "brier" else score
        if not answered.any():
            yield {"score": name, "estimate": None, "reason": "no forecast has the rater's own answer beside it"}
            return
        over = ((self.p - shares) * self.own).sum(axis=1)[answered]
        items = self.item.filter(pl.Series(answered))
        yield {"score": name, "judgments": len(over), **mean_with_interval(items, over, how)}

    def by_item(self, confidence: float) -> Iterator[dict[str, Any]]:
        """The answer of each item that is more popular than expected."""
        for item in self.item.unique(maintain_order=True):
            here = (self.item == item).to_numpy()
            votes = self.counts[here][0] + self.own[here][0]
            share, expected = votes / votes.sum(), self.p[here].mean(axis=0)
            answer = int((share - expected).argmax())
            apart = share[answer] - self.p[here][:, answer]
            both = self.own[here].any(axis=1)
            each = (self.own[here] - self.p[here])[both][:, answer]
            low, high = student_interval(each, confidence)
            yield {
                "item": item,
                "answer": self.codes[answer],
                "popular": self.codes[int(share.argmax())],
                "share": float(share[answer]),
                "expected": float(expected[answer]),
                "estimate": float(apart.mean()),
                "low": low,
                "high": high,
                "over": None if low is None else "raters",
                "raters": len(apart),
                "judgments": int(votes.sum()),
            }
