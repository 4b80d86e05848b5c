"""`vantage.measures.panel`: error correlations, effective votes, and which models are enough."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import CORRELATIONS, LIMITS, RATIOS, Contrast, Resampled, student_interval
from vantage.measures.panels.answers import (
    ErrorMoments,
    PanelAnswers,
    PanelChoice,
    choose,
    effective_votes,
    equal_votes,
    losses,
)
from vantage.measures.parts import constant_within, parts
from vantage.measures.presentation import Column, Fact, View
from vantage.measures.ratings import By, Floats, Judgments, has_column, judgments_frame
from vantage.measures.resampling import Resampling, named
from vantage.scales import Level

Show: TypeAlias = Literal["summary", "votes", "matrix", "raters", "preference"]
UNREAD: Final = "a panel needs at least two models that tell items apart as people do, but {} of {}"
EXACT: Final = "the errors of {} are no larger than the sampling error of people's distribution: ask more people"

VIEW: Final = View(
    "Effective votes of a panel of models",
    columns={
        "estimate": Column("effective votes", digits=1),
        "low": Column(digits=1),
        "high": Column(digits=1),
        "equal": Column("votes, equal weights", digits=1),
        "correlation": Column("mean error correlation", digits=2),
        "gain": Column("votes added", digits=2, signed=True, interval=("gain_low", "gain_high")),
        "loss": Column("distance from people", digits=3, interval=("loss_low", "loss_high")),
        "chosen": Column("cheapest sufficient panel"),
        "members": Column("models"),
        "no_vote": Column("models without a vote"),
        "above_floor": Column("tells items apart"),
        "size": Column("models"),
        "chosen_loss": Column("its distance from people", digits=3),
        "all_loss": Column("distance of all", digits=3),
        "worth": Column("worth this many people", digits=1),
    },
    notes=(
        "Errors are distances from the distribution of people's answers; a copy of a model adds no vote, an "
        "independent one adds one. More votes than models means that their errors partly cancel out.",
        "Distances are measured on items that were not used to choose the panel.",
        "A model has no vote where it is no closer to people than its own answers to other items would be.",
    ),
    says=(
        Fact("Effective votes: {rows}.", row="{estimate} of {members} models[ about {group}] ({low} to {high})"),
        Fact("The cheapest sufficient panel is {rows}.", row="{chosen}[ about {group}]"),
        Fact(
            "Models without a vote, since they do not tell items apart as people do: {rows}.",
            row="{no_vote}[ about {group}]",
        ),
    ),
    method="The effective number of votes of a panel follows from the correlation of its members' errors, which are "
    "distances from the distribution of people's answers (Kish, 1965; Kohli, 2026); the panel was chosen by "
    "cross-validation.",
    sources=("kish1965", "kohli2026", "breiman1984"),
)


@measure("panel", "panels", view=VIEW, pools=False)
def panel(
    data: Judgments,
    *,
    by: By = (),
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    show: Show = "summary",
    prices: Mapping[str, float] | None = None,
    writer: str | None = None,
    level: Level | None = None,
    ci: Resampled = "auto",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """How many independent votes are several models worth, and which of them are enough?

    Members are the models, personas and trained raters, or the `raters` named. Their errors are measured from the
    distribution of people's answers to each item that all members and two or more people answered; the sampling error
    of few people is taken out. A model that does not tell items apart as people do has no vote: `no_vote` names it.

    `summary` has one row: `estimate`, the effective votes of all members with the best weights, `equal` with equal
    weights (Kish 1965), the mean error `correlation`, and the cheapest panel within one standard error of the lowest
    distance from people (`chosen`, with `cost` where there are `prices`). `votes` has a row for each size: the member
    that is `added`, its `gain` in votes, and the `loss` on items that had no part in choosing; `worth` says the mean of
    how many people is as close. `matrix` has the error correlations of pairs, `raters` each member alone, and
    `preference` whether a member rates texts of its own family higher than others, beyond what people do: `writer` is
    the column of the items that names who wrote them.

    >>> rng = np.random.default_rng(0)
    >>> item, rater = (grid.ravel() for grid in np.indices((1500, 13)))
    >>> value = np.rint(rng.normal(size=1500)[item] + rng.normal(size=19_500))
    >>> value[rater == 2] = value[rater == 1]  # a copy
    >>> kinds = np.where(rater < 3, "model", "person")
    >>> answers = pl.DataFrame({"item": item, "rater": rater, "value": value, "kind": kinds})
    >>> panel(answers, level="ordinal", ci="none").select("members", pl.col("estimate").round(1)).row(0)
    (3, 2.0)
    """
    wrote = _writers(data, writer) if show == "preference" else None
    how = Resampling(ci, confidence=confidence, seed=seed)
    extra = ["kind"] if has_column(data, "kind") else []
    rows: list[dict[str, Any]] = []
    problems: list[InputError] = []
    for part in parts(data, by, extra=extra):
        try:
            answers = PanelAnswers.of(part, raters, people, level)
        except InputError as error:
            problems.append(error)
            rows.append({**part.key, "reason": error.problem})
            continue
        if wrote is not None:
            made = self_preference(answers, wrote, confidence)
        elif show == "matrix":
            made = _matrix(answers, how)
        elif show == "raters":
            made = _raters(answers, confidence)
        else:
            asked, counted, readers = answers.raters, answers.counts, answers.readers
            silent = [name for number, name in enumerate(asked) if number not in readers]
            every = dict(zip(asked, _prices(prices, asked), strict=True))
            if len(readers) < 2:
                reason = UNREAD.format(len(readers) or "none", f"{len(asked)} {'does' if len(readers) == 1 else 'do'}")
                nothing = {"members": len(readers), "chosen": None, "no_vote": _listed(silent), "reason": reason}
                rows.append({**part.key, **counted, **nothing})
                continue
            answers = answers.of_members(readers)
            each = [every[name] for name in answers.raters]
            choice = choose(answers, each, seed)
            made = [_summary(answers, choice, each, how)] if show == "summary" else _votes(answers, choice, how)
            made = [{**row, "no_vote": _listed(silent)} for row in made]
        rows += [{**part.key, **answers.counts, **row} for row in made]
    if len(problems) == len(rows) > 0:
        raise problems[0]
    return table(rows, by)


def _summary(answers: PanelAnswers, choice: PanelChoice, prices: Sequence[float], how: Resampling) -> dict[str, Any]:
    moments = ErrorMoments.of(answers)
    correlations = moments.observed
    m = len(correlations)
    everyone = losses(answers.products, tuple(range(m)))
    row: dict[str, Any] = {"members": m, "equal": None, "correlation": None}
    row |= {"chosen": " + ".join(answers.raters[member] for member in choice.chosen), "size": len(choice.chosen)}
    row |= {"cost": float(sum(prices[member] for member in choice.chosen)), "all_cost": float(sum(prices))}
    row |= {"chosen_loss": float(choice.by_rule.mean()), "all_loss": float(everyone.mean())}
    row |= {"single_loss": float(choice.by_size[0].mean()), "worth": _worth(answers, choice.by_rule)}
    if not np.isfinite(correlations).all():
        return {**row, "reason": _exact(answers, correlations)}
    apart = ~np.eye(m, dtype=bool)
    row |= {"equal": equal_votes(correlations), "correlation": float(correlations[apart].mean())}
    return {**row, **_stated(moments, how, [tuple(range(m))])[0]}


def _votes(answers: PanelAnswers, choice: PanelChoice, how: Resampling) -> list[dict[str, Any]]:
    moments = ErrorMoments.of(answers)
    correlations = moments.observed
    sizes = [choice.order[: size + 1] for size in range(len(choice.order))]
    stated = _stated(moments, how, sizes) if np.isfinite(correlations).all() else None
    rows = []
    for size, member in enumerate(choice.order):
        row = {
            "size": size + 1,
            "added": answers.raters[member],
            **_loss(answers, choice.by_size[size], how.confidence),
        }
        rows.append({**row, **(stated[size] if stated else {"reason": _exact(answers, correlations)})})
    return rows


def _stated(moments: ErrorMoments, how: Resampling, sizes: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """The votes of nested panels and what each adds to the one before, with intervals over items."""

    def statistics(weight: Floats) -> Floats:
        votes = [
            [effective_votes(one[np.ix_(panel, panel)]) for panel in sizes] for one in moments.correlations(weight)
        ]
        return np.hstack([votes, np.diff(votes, prepend=0.0)])

    limits = [RATIOS] * len(sizes) + [LIMITS] * len(sizes)
    estimates = statistics(np.ones((1, moments.items)))[0].tolist()
    bounds = how.intervals(moments.items, statistics, limits=limits)
    rows = []
    for size in range(len(sizes)):
        row = {"estimate": estimates[size], **how.stated(bounds[size])}
        if len(sizes) > 1:
            gain = {"estimate": estimates[len(sizes) + size], **how.stated(bounds[len(sizes) + size])}
            row |= named("gain", gain)
        rows.append(row)
    return rows


def _matrix(answers: PanelAnswers, how: Resampling) -> list[dict[str, Any]]:
    moments = ErrorMoments.of(answers)
    m = len(answers.raters)

    def statistics(weight: Floats) -> Floats:
        return moments.correlations(weight).reshape(len(weight), -1)

    estimates = statistics(np.ones((1, moments.items)))[0]
    bounds = how.intervals(moments.items, statistics, limits=[CORRELATIONS] * m**2)
    rows = []
    for cell, (first, second) in enumerate(np.ndindex(m, m)):
        row: dict[str, Any] = {"first": answers.raters[first], "second": answers.raters[second]}
        if not np.isfinite(estimates[cell]):
            rows.append({**row, "reason": _exact(answers, estimates.reshape(m, m))})
        elif first == second:
            rows.append({**row, "estimate": 1.0})
        else:
            rows.append({**row, "estimate": float(estimates[cell]), **how.stated(bounds[cell])})
    return rows


def _raters(answers: PanelAnswers, confidence: float) -> list[dict[str, Any]]:
    correlations, readers = ErrorMoments.of(answers).observed, answers.readers
    rows = []
    for number, rater in enumerate(answers.raters):
        columns = {"bias": answers.values[number], "correlation": np.delete(correlations[number], number)}
        known: dict[str, Any] = {
            name: float(one.mean()) if np.isfinite(one).all() else None for name, one in columns.items()
        }
        known["above_floor"] = number in readers
        rows.append({"rater": rater, **known, **_loss(answers, losses(answers.products, (number,)), confidence)})
    return rows


def _listed(raters: Sequence[str]) -> str | None:
    return ", ".join(raters) or None


def _loss(answers: PanelAnswers, loss: Floats, confidence: float) -> dict[str, float | None]:
    low, high = student_interval(loss, confidence)
    return {"loss": float(loss.mean()), "loss_low": low, "loss_high": high, "worth": _worth(answers, loss)}


def _worth(answers: PanelAnswers, loss: Floats) -> float | None:
    """The mean of how many people is as close to the distribution of people; null where no number is."""
    mean = float(loss.mean())
    return float(answers.spread.mean()) / mean if mean > 0 else None


def _exact(answers: PanelAnswers, losses: Floats) -> str:
    unclear = [rater for rater, own in zip(answers.raters, np.diag(losses), strict=True) if not np.isfinite(own)]
    return EXACT.format(" and ".join(unclear))


def _prices(prices: Mapping[str, float] | None, raters: Sequence[str]) -> list[float]:
    if prices is None:
        return [1.0] * len(raters)
    for name in prices:
        if name not in raters:
            raise InputError(f"there is no model '{name}' in the panel", remedy=nearest(name, list(raters)))
    if missing := [rater for rater in raters if rater not in prices]:
        raise InputError(f"there is no price of {', '.join(missing)}", remedy="give one for every model of the panel")
    if min(prices.values()) <= 0:
        raise InputError("a price must be above 0", remedy="give what one answer of each model costs")
    return [float(prices[rater]) for rater in raters]


def family(name: str) -> str:
    """The family of a model: the first word of its name, without the provider.

    >>> [family(name) for name in ("openai/gpt-4o", "gpt-3.5-turbo", "meta-llama/Llama-3.1-8B", "claude-opus+persona")]
    ['gpt', 'gpt', 'llama', 'claude']
    """
    match = re.match(r"[a-z]+", name.rsplit("/", 1)[-1].casefold())
    return match.group() if match else name.casefold()


def _writers(data: Judgments, column: str | None) -> dict[Any, Any]:
    """Who wrote each item."""
    if column is None:
        raise InputError("no column names who wrote the items", remedy="pass writer, a column of the items")
    frame = judgments_frame(data, [column])
    if not constant_within(frame, column, ["item"]):
        raise InputError(f"an item has several values of '{column}'", remedy="pass a column of the items")
    return dict(frame.select("item", column).unique().iter_rows())


def self_preference(answers: PanelAnswers, writer: Mapping[Any, Any], confidence: float) -> list[dict[str, Any]]:
    """One row per member: how much higher it rates its family's texts than others', beyond what people do.

    `writer` says who wrote each item. The errors of a member are its answers less the mean of people, so
    that better texts are no preference; those on the family's texts and on all others are compared by Welch's t test.
    """
    wrote = np.array([family(str(writer[item])) if writer.get(item) else "" for item in answers.units["item"]])
    if np.isnan(answers.values).all():
        raise InputError(
            "self-preference needs an order of the options", remedy="choose a question on an ordered scale"
        )
    rows = []
    for number, rater in enumerate(answers.raters):
        own, known = wrote == family(rater), wrote != ""
        row: dict[str, Any] = {"rater": rater, "family": family(rater), "own_items": int(own.sum())}
        first, second = answers.values[number, own], answers.values[number, known & ~own]
        if min(len(first), len(second)) < 2:
            rows.append({**row, "reason": "fewer than two items of its family, or of others"})
            continue
        apart = Contrast.of_means(first, second)
        if not apart.error > 1e-12:
            rows.append({**row, "estimate": apart.estimate, "reason": "the answers do not vary"})
            continue
        rows.append({**row, **apart.stated(confidence), "over": "items", "p": apart.p})
    return rows
