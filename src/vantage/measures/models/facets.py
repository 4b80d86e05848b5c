"""`vantage.measures.facets`: items, raters, questions and conditions on one scale of logits, for people and models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.optimize import brentq

from vantage.corpora import PEOPLE
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.intervals import student
from vantage.measures.models.crossed import Crossed, level_sums
from vantage.measures.models.explain import MANY_POINTS, around, one_question, raters_of_parts
from vantage.measures.models.rasch import LOOSE, Rasch, RaschAnswers, fit
from vantage.measures.parts import Part, check_level, counts, names, parts
from vantage.measures.presentation import Column, Extremes, View
from vantage.measures.ratings import SAMPLED, SPREAD_OUT, By, Floats, Ints, Judgments, has_column, on_repeats
from vantage.scales import Scale, show_code

Show: TypeAlias = Literal["raters", "items", "thresholds", "categories", "summary", "curve", "ruler"]
Unconnected: TypeAlias = Literal["refuse", "assume", "largest"]
EXTREME: Final = 0.3
"""How many points a rater who gave only the lowest or the highest answer is moved inwards, in sum (Wright 1998)."""
ENOUGH: Final = 20
"""With fewer answers for each parameter the likeliest severities are spread too far (docs/calibration.md)."""

VIEW: Final = View(
    "Raters on one scale",
    symbol="severity",
    columns={
        "estimate": Column("severity", digits=2, signed=True, interval=("low", "high")),
        "infit": Column(digits=2),
        "outfit": Column(digits=2),
        "range_use": Column("use of the range", digits=2),
        "fair": Column("fair average", digits=2),
        "observed": Column("observed mean", digits=2),
    },
    show=("rater", "kind", "estimate", "infit", "outfit", "range_use", "fair", "observed", "judgments", "reason"),
    notes=(
        "Severity is in logits; people have 0 on average, and stricter raters more.",
        "Infit and outfit are 1 if a rater is as consistent as the model expects, and above 1 if less so.",
        "The fair average is what a rater would give an average item; a use of the range below 1 keeps to the middle.",
    ),
    says=(
        Extremes(
            most="The strictest rater is {rows}",
            least="The most lenient rater is {rows}",
            alike="It is not clear which rater is strictest or most lenient ({range} logits)",
            label="{rater}",
        ),
    ),
    method="Items and raters were placed on one scale by a many-facet rating scale model.",
    sources=("andrich1978", "linacre1989"),
)


@measure("facets", "models", view=VIEW, pools=False, follows=True, pools_questions=True)
def facets(
    data: Judgments,
    *,
    by: By = (),
    question: str | None = None,
    thresholds: Literal["common", "question", "rater"] = "common",
    unconnected: Unconnected = "refuse",
    anchored: bool = False,
    show: Show = "raters",
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Items and raters on one scale: severity, consistency, use of the range, and fair averages.

    The many-facet rating scale model (Linacre 1989): the log-odds of an answer over the next lower one are the item's
    location less the rater's severity, less those of question and condition where there are several, less a threshold.
    Every kind of rater is used, models and personas beside people, and people have severity 0 on average. Estimates are
    by marginal maximum likelihood: items are drawn from a normal distribution, raters are fixed.

    `thresholds`: `common` (rating scale model), or of each `question` or `rater` (partial credit model), which are
    drawn towards the common ones where there are few answers.

    Raters that fall into parts without common items have no common scale, and the model is refused, with the parts
    named. `unconnected="assume"` takes the items of all parts for draws from one distribution, as where items were
    allotted at random, which puts everyone on one scale; `part` then numbers the parts, the largest first. `largest`
    keeps the part with the most answers and counts the others as left out.

    With `anchored`, items and thresholds are those of people alone, and everyone else is placed on them, as a new rater
    would be: a model that is unlike people, or a constant, then moves nothing but itself and connects nobody.

    `show` chooses the table. `raters`: severity in logits, `infit` and `outfit` (mean squares, weighted by information
    or not; each answer is compared with what the item's other answers predict), `range_use` (the slope of a rater's
    answers on the predicted ones: below 1 for a rater who keeps to the middle), `fair` (the answer to an average item).
    `items`: location, and the `fair` average: the mean answer of raters of severity 0, whoever happened to rate.
    `thresholds`: where two neighbouring answers are equally likely. `categories`: how often each rater gave each
    answer, and how often one of that severity who uses the scale as all do would have (`expected`). `summary`:
    separation reliability of raters and items, and the fit. `curve`: the expected answer by location, of each group of
    thresholds too. `ruler`: everything that the Wright map draws.

    A rater who gave only the lowest or only the highest answer has no finite severity: it is estimated from a sum moved
    inwards by 0.3 points, and `reason` says so.

    >>> from vantage import demo_corpus
    >>> rows = facets(demo_corpus(), question="trust")
    >>> rows.sort("estimate").select("rater", pl.col("estimate", "range_use").round(1)).row(0)
    ('r9', -2.8, -0.0)
    """
    kinds = has_column(data, "kind")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=["kind"] if kinds else []):
        chosen = part if question is None else one_question(part, question)
        model = Facets.of(chosen, thresholds, unconnected, anchored=anchored)
        left_out = len(chosen.answered) - len(model.frame) - len(model.placed)
        based_on = counts(model.frame, chosen.frame, unconnected=left_out)
        few = SPREAD_OUT if len(model.frame) < ENOUGH * len(model.fit.parameters) else None
        based_on["note"] = "; ".join(filter(None, (on_repeats(model.frame, SAMPLED), few))) or None
        rows += [{**part.key, **based_on, **row} for row in model.rows(show, confidence)]
    return table(rows, names(by))


@dataclass(frozen=True)
class Facets:
    """A fitted model, and the names of what it has estimates of."""

    frame: pl.DataFrame
    """The answers that the fit rests on."""
    placed: pl.DataFrame
    """Those of raters that are placed afterwards: extreme ones, and where people are the anchor all others."""
    codes: Floats
    scale: Scale | None
    fit: Rasch
    labels: dict[str, pl.DataFrame]
    """One row per level of each facet (`rater`, `question`, `condition`), and of `item`."""
    parts: Ints
    """Which of the parts without common items each answer belongs to, from 0 up, the largest first."""

    @classmethod
    def of(cls, part: Part, thresholds: str, unconnected: str = "refuse", *, anchored: bool = False) -> Facets:
        """The model of a group's answers."""
        if thresholds not in LOOSE:
            raise InputError(f"thresholds '{thresholds}' are not known", remedy=f"use {', '.join(LOOSE)}")
        scale = part.scale()
        if scale is None or len(scale.codes) != 2:
            check_level(scale, part.frame, "a rating scale model")
        frame = part.answered
        if "kind" not in frame.columns:
            frame = frame.with_columns(kind=pl.lit("person"))
        people = pl.col("kind").cast(pl.String).is_in(PEOPLE)
        others = frame.filter(~people)
        anchored = anchored and 0 < len(others) < len(frame)
        frame, others = (frame.filter(people), others) if anchored else (frame, others.clear())
        points = frame["value"].n_unique()
        if points < 2 or points > MANY_POINTS:
            raise InputError(
                f"a rating scale model needs 2 to {MANY_POINTS} different answers, and there are {points}",
                remedy="use vantage.measures.explain with family gaussian" if points > 2 else "choose another question",
            )
        frame, extreme = _without_extremes(frame.sort("item", "rater", "question", "condition", "sample"))
        frame, places = _connected(frame, unconnected)
        placed = pl.concat([extreme, others.select(extreme.columns)])
        if unconnected == "largest":
            placed = placed.join(frame, on="item", how="semi")
        codes, category = np.unique(frame["value"].to_numpy(), return_inverse=True)
        varied = ["rater", *(name for name in ("question", "condition") if frame[name].n_unique() > 1)]
        levels = {name: encode(frame, [name]) for name in ("item", *varied)}
        own = levels[thresholds] if thresholds in levels else np.zeros(len(frame), dtype=np.int64)
        loose = LOOSE[thresholds] if thresholds in levels else 0.0
        answers = RaschAnswers(category.astype(np.int64), levels["item"], [levels[name] for name in varied], own, loose)
        firsts = {name: np.unique(code, return_index=True)[1] for name, code in levels.items()}
        labels = {name: frame[first].select(name, "kind") for name, first in firsts.items()}
        return cls(frame, placed, codes, scale, fit(answers), labels, places)

    @cached_property
    def shift(self) -> dict[str, float]:
        """The mean of each facet, of people among raters, which the items take over."""
        people = self.labels["rater"]["kind"].cast(pl.String).is_in(PEOPLE).to_numpy()
        people = people if people.any() else np.ones_like(people)
        named = zip([name for name, _ in self._facet_codes()], self.fit.facets, strict=True)
        return {name: float((values[people] if name == "rater" else values).mean()) for name, values in named}

    @cached_property
    def thresholds(self) -> Floats:
        """The thresholds of each group, with mean zero over all groups: items take over the rest."""
        return np.asarray(self.fit.thresholds - self.fit.thresholds.mean())

    @property
    def origin(self) -> float:
        """The mean location of the items, at severity 0."""
        return -float(self.fit.thresholds.mean()) - sum(self.shift.values())

    def expected(self, location: Floats, group: int | None = None) -> Floats:
        """The expected answer, in codes, at some locations; over all groups of thresholds unless one is named."""
        cumulative = np.pad(np.cumsum(self.thresholds, axis=1), ((0, 0), (1, 0)))
        rows = cumulative if group is None else cumulative[group : group + 1]
        raw = location[:, None, None] * np.arange(len(self.codes)) - rows
        p = np.exp(raw - raw.max(axis=2, keepdims=True))
        return np.asarray((p / p.sum(axis=2, keepdims=True)).mean(axis=1) @ self.codes)

    def rows(self, show: str, confidence: float) -> list[dict[str, Any]]:
        """The rows of one of the tables."""
        if show == "ruler":
            raters, items = self.raters(confidence), self.items(confidence)
            steps = [row for row in self.steps() if row["estimate"] is not None and row["group"] is None]
            return [
                *({**_named(row), **row} for row in raters),
                *({"facet": "item", "name": str(row["item"]), **row} for row in items),
                *({"facet": "threshold", "name": row["threshold"], **row} for row in steps),
            ]
        if show in ("raters", "items"):
            return self.raters(confidence) if show == "raters" else self.items(confidence)
        tables = {"thresholds": self.steps, "categories": self.categories, "summary": self.summary, "curve": self.curve}
        return tables[show]()

    def raters(self, confidence: float) -> list[dict[str, Any]]:
        """One row per level of every facet but items."""
        out = []
        residual, variance, predicted = self.fit.residuals
        category = self.fit.answers.category
        for number, (name, code) in enumerate(self._facet_codes()):
            values, errors = self.fit.facets[number], self.fit.facet_errors[number]
            n = len(values)
            terms = (np.ones(len(code)), residual**2, variance, residual**2 / variance)
            sums = [np.bincount(code, weights, n) for weights in terms]
            centred = predicted - (np.bincount(code, predicted, n) / sums[0])[code]
            slope = np.bincount(code, centred * category, n) / np.maximum(np.bincount(code, centred**2, n), 1e-9)
            observed = np.bincount(code, self.frame["value"].to_numpy(), n) / sums[0]
            severity = values - self.shift[name]
            if self.fit.answers.groups == n and np.array_equal(self.fit.answers.group, code):
                fair = [float(self.expected(self.origin - severity[g : g + 1], g)[0]) for g in range(n)]
            else:
                fair = self.expected(self.origin - severity).tolist()
            part = (
                self.parts[np.unique(code, return_index=True)[1]] + 1 if name == "rater" and self.parts.any() else None
            )
            for place, (label, kind) in enumerate(self.labels[name].iter_rows()):
                out.append(
                    {
                        **({"rater": label, "kind": str(kind)} if name == "rater" else {name: label}),
                        **around(float(severity[place]), float(errors[place]), confidence),
                        "over": "items",
                        "infit": float(sums[1][place] / sums[2][place]),
                        "outfit": float(sums[3][place] / sums[0][place]),
                        "range_use": float(slope[place]),
                        "fair": fair[place],
                        "observed": float(observed[place]),
                        "judgments": int(sums[0][place]),
                        **({"part": int(part[place])} if part is not None else {}),
                    }
                )
        return [*out, *self._placed(confidence)]

    def categories(self) -> list[dict[str, Any]]:
        """How often each rater gave each answer, and how often the model expects it."""
        code, n = self.fit.answers.facets[0], self.fit.answers.sizes[0]
        size = np.bincount(code, minlength=n)[:, None]
        given = level_sums(code, np.eye(len(self.codes))[self.fit.answers.category], n) / size
        expected = level_sums(code, self.fit.predicted, n) / size
        return [
            {
                "rater": rater,
                "kind": str(kind),
                "answer": float(answer),
                "estimate": float(given[place, step]),
                "expected": float(expected[place, step]),
                "judgments": int(size[place, 0]),
            }
            for place, (rater, kind) in enumerate(self.labels["rater"].iter_rows())
            for step, answer in enumerate(self.codes)
        ]

    def _placed(self, confidence: float) -> list[dict[str, Any]]:
        """Raters on whom the fit does not rest, by their answers to items whose location is known."""
        out = []
        where = {item: place for place, item in enumerate(self.labels["item"]["item"])}
        width = (self.codes[-1] - self.codes[0]) / (len(self.codes) - 1)
        for (rater, kind), given in self.placed.group_by("rater", "kind", maintain_order=True):
            known = given.filter(pl.col("item").is_in(list(where)))
            at = self.fit.items[0][[where[item] for item in known["item"]]] + self.origin
            observed, values = float(given["value"].mean() or 0.0), known["value"].to_numpy()  # type: ignore[arg-type]
            row: dict[str, Any] = {"rater": rater, "kind": str(kind), "observed": observed, "judgments": len(given)}
            ends = {"lowest": self.codes[0], "highest": self.codes[-1]}
            end = next((name for name, code in ends.items() if (given["value"] == code).all()), "")
            bound = f"gave only the {end} answer ({show_code(observed)}), so the severity is a bound" if end else None
            if not len(known):
                out.append({**row, "reason": "; ".join(filter(None, (bound, "nobody else rated these items")))})
                continue
            inside = len(known) * self.codes[0] + EXTREME, len(known) * self.codes[-1] - EXTREME
            goal = float(np.clip(values.sum(), *inside))
            severity = float(brentq(lambda s, at=at, goal=goal: self.expected(at - s).sum() - goal, -60, 60))
            slope = (self.expected(at - severity + 0.01) - self.expected(at - severity - 0.01)) / 0.02
            se = np.sqrt(width / max(float(slope.sum()), 1e-6))
            said = self.expected(at - severity)
            fair = float(self.expected(np.array([self.origin - severity]))[0])
            stated = {**around(severity, float(se), confidence), "over": "items", "fair": fair, "range_use": 0.0}
            if not end:
                centred = said - said.mean()
                stated["range_use"] = float(centred @ values / max(float(centred @ centred), 1e-9))
                stated["infit"] = float(np.square(values - said).sum() / max(width * float(slope.sum()), 1e-9))
                stated["outfit"] = float(np.mean(np.square(values - said) / np.maximum(width * slope, 1e-9)))
            out.append({**row, **stated, "reason": bound})
        return out

    def items(self, confidence: float) -> list[dict[str, Any]]:
        """One row per item."""
        mean, spread = self.fit.items[0] + self.origin, self.fit.item_errors
        code = self.fit.answers.item
        size = np.bincount(code)
        observed = np.bincount(code, self.frame["value"].to_numpy()) / size
        reach = student(np.inf, confidence)
        ends = [self.expected(mean + sign * reach * spread) for sign in (0, -1, 1)]
        return [
            {
                "item": item,
                **around(float(mean[n]), float(spread[n]), confidence),
                "over": "raters",
                **dict(zip(("fair", "fair_low", "fair_high"), (float(values[n]) for values in ends), strict=True)),
                "observed": float(observed[n]),
                "judgments": int(size[n]),
            }
            for n, item in enumerate(self.labels["item"]["item"])
        ]

    def steps(self) -> list[dict[str, Any]]:
        """One row per threshold: of all answers together, and of each group with its own."""
        groups: list[tuple[str | None, Floats]] = [(None, self.thresholds.mean(axis=0))]
        groups += zip(self._groups(), self.thresholds, strict=False)
        answered = self.codes.tolist()
        unused = [code for code in (self.scale.codes if self.scale is not None else ()) if code not in answered]
        rows = []
        for group, values in groups:
            for step, value in enumerate(values.tolist()):
                label = f"{show_code(answered[step])}|{show_code(answered[step + 1])}"
                disordered = step > 0 and value < values[step - 1]
                reason = f"below the threshold before it: {show_code(answered[step])} is never the likeliest answer"
                row = {"group": group, "threshold": label, "estimate": value}
                rows.append({**row, "reason": reason if disordered else None})
        nobody = {"group": None, "estimate": None, "reason": "nobody gave this answer"}
        return [*rows, *({**nobody, "threshold": show_code(code)} for code in unused)]

    def _groups(self) -> list[str]:
        """The names of the groups that have thresholds of their own."""
        if not self.fit.answers.groups:
            return []
        name = next(n for n, code in self._facet_codes() if np.array_equal(code, self.fit.answers.group))
        return [str(label) for label in self.labels[name][name]]

    def _facet_codes(self) -> list[tuple[str, Ints]]:
        return list(zip([name for name in self.labels if name != "item"], self.fit.answers.facets, strict=True))

    def summary(self) -> list[dict[str, Any]]:
        """The separation reliability of raters and items: how much of the variance of estimates is not error."""
        severity, errors = self.fit.facets[0], self.fit.facet_errors[0]
        mean, spread = self.fit.items
        rows = []
        for name, values, error, shrunken in (("rater", severity, errors, False), ("item", mean, spread, True)):
            noise = float(np.square(error).mean())
            total = float(self.fit.sigma**2 if shrunken else values.var(ddof=1)) if len(values) > 1 else 0.0
            true = max(total - noise, 0.0)
            row = {"facet": name, "levels": len(values), "sd": float(np.sqrt(total))}
            row |= {"separation": float(np.sqrt(true / noise)), "estimate": true / total if total else None}
            rows.append({**row, "log_likelihood": self.fit.log_likelihood})
        return rows

    def curve(self) -> list[dict[str, Any]]:
        """The expected answer at locations that cover items and raters: of all, and of each group of thresholds."""
        reach = 3 * self.fit.sigma + 2
        grid = np.linspace(self.origin - reach, self.origin + reach, 61)
        groups: list[tuple[str | None, int | None]] = [(None, None), *((g, n) for n, g in enumerate(self._groups()))]
        return [
            {"group": name, "location": x, "estimate": y}
            for name, group in groups
            for x, y in zip(grid.tolist(), self.expected(grid, group).tolist(), strict=True)
        ]


def _without_extremes(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers apart from those of raters who gave only the lowest or only the highest of them, and theirs."""
    kept, out = frame, frame.clear()
    while True:
        low, high = kept["value"].min(), kept["value"].max()
        ends = kept.group_by("rater").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        single = ends.filter((pl.col("low") == pl.col("high")) & pl.col("low").is_in([low, high]))["rater"]
        if not len(single):
            return kept, out
        gone = pl.col("rater").is_in(single.implode())
        out, kept = pl.concat([out, kept.filter(gone)]), kept.filter(~gone)
        if kept["value"].n_unique() < 2:
            raise InputError("every rater gave only one answer, so there is no scale", remedy="choose another question")


def _named(row: dict[str, Any]) -> dict[str, str]:
    """What a row of raters, questions or conditions is called on the ruler."""
    facet = next(name for name in ("rater", "question", "condition") if name in row)
    return {"facet": row["kind"] if facet == "rater" else facet, "name": str(row[facet])}


def _connected(frame: pl.DataFrame, unconnected: str) -> tuple[pl.DataFrame, Ints]:
    """The answers that are fitted together, and the part of each; parts without common items are named or left out."""
    if frame["rater"].n_unique() < 2 or frame["item"].n_unique() < 2:
        raise InputError("a rating scale model needs two raters and two items", remedy="choose another question")
    places = Crossed([encode(frame, ["item"]), encode(frame, ["rater"])]).components()
    order = np.argsort(-np.bincount(places), kind="stable")
    places = np.argsort(order)[places]
    if unconnected == "largest":
        return frame.filter(pl.Series(places == 0)), np.zeros(int((places == 0).sum()), dtype=np.int64)
    if unconnected == "assume" or places.max() == 0:
        return frame, places
    apart, shown = raters_of_parts(frame, places, 4)
    raise InputError(
        f"raters fall into {apart} parts that share no items, so they have no common scale: {shown}",
        remedy="pass unconnected assume if the items of parts are alike on average, or largest for the largest part",
    )
