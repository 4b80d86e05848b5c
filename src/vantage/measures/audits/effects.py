"""The audit: how far the answers of a rater move with the way in which a question is put, and when it is put again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

from vantage.measures.audits.cards import COLUMN, UNKNOWN, Card, cards, falling
from vantage.measures.audits.regression import shifts, stated
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.intervals import Contrast
from vantage.measures.multiplicity import adjusted
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import UNIT, Floats, Ints, Judgments

PHRASES: Final[dict[str, list[str]]] = yaml.safe_load(
    files("vantage.measures.audits").joinpath("phrases.yaml").read_text("utf-8")
)
"""What is said of an effect above zero, below it, and not told apart from it."""
FACTOR: Final = {
    "labels": "labels",
    "wording": "wording",
    "format": "format",
    "optout": "opt-out",
    "reason": "place of the reason",
    "shots": "examples",
    "questions": "question order",
}
"""Factors whose levels are compared with the first one, and what their effects are called."""
NO_PEOPLE: Final = "the level by itself: there are no people to compare with"

VIEW: Final = View(
    "Response audit",
    columns={
        "estimate": Column("effect", digits=2, signed=True, interval=("low", "high")),
        "p_adjusted": Column("p (corrected)", digits=3),
        "relative": Column("% of the scale", digits=1, signed=True, interval=("relative_low", "relative_high")),
    },
    show=("rater", "scale", "effect", "contrast", "estimate", "unit", "p", "p_adjusted", "reason"),
    notes=(
        "Effects are in points of the scale, or in percentage points on scales of two options and on nominal ones.",
        "Effects beyond the ends of the interval are excluded.",
    ),
    says=(
        Against(
            0.0,
            value="tested",
            above="{above}: {rows}",
            below="{below}: {rows}",
            within="{within}: {rows}",
            p="p",
            label="{rater}",
            result="{estimate} {unit}, 95 % CI {low} to {high}",
        ),
    ),
    method="Effects of presentations were estimated within items, with intervals that leave out items (and people) in "
    "turn; p values were corrected over each rater's card (Bonferroni).",
    sources=("krosnick1991", "tjuatja2024", "cameron2011"),
)


@dataclass(frozen=True, slots=True)
class Varied:
    """One column of the design: an effect, what is compared in it, and what every answer has of it."""

    effect: str
    contrast: str
    values: Floats
    sign: float = 1.0


@measure("audit", "audit", view=VIEW, pools=False)
def audit(data: Judgments, *, rater: str | Sequence[str] = (), confidence: float = 0.95) -> pl.DataFrame:
    """Does a rater answer the question, or the way in which it is put? One card per model, and one for people.

    The column `presentation` of the judgments says how each question was put (`labels=letters order=down`); without it
    the judgments count as one unknown presentation. All factors that were varied are estimated together, within items;
    docs/audit.md says what each effect is. Effects are in points of the scale; on scales of two options in percentage
    points of the second, on nominal scales of the first option. `limit` is the larger end of the interval, so that
    effects beyond it are excluded; `relative` is the effect in percent of the scale. Intervals are over items, and over
    raters too where several answered; a level by itself is not `tested`. `p_adjusted` is corrected over the card.

    >>> item = np.repeat(np.arange(20), 2)
    >>> order = np.tile(["order=up", "order=down"], 20)
    >>> value = item % 3 + np.where(order == "order=down", 1, 0) + (item % 2)
    >>> frame = pl.DataFrame({"item": item, "rater": "bot", "sample": np.tile([0, 1], 20), "value": value,
    ...                       "presentation": order})
    >>> audit(frame).filter(effect="order").select("contrast", "estimate", "unit").row(0)
    ('down − up', 1.0, 'points')
    """
    by_card: dict[str, list[dict[str, Any]]] = {}
    for card in cards(data, rater):
        made = [*_shifted(card, confidence), *_levels(card, confidence)]
        by_card.setdefault(card.rater, []).extend(
            {**card.key, **card.counts, **_with_phrases(row, card)} for row in made
        )
    rows = [row for mine in by_card.values() for row in _once(mine)]
    for mine in by_card.values():
        for row, p in zip(mine, adjusted([row["p"] for row in mine], "bonferroni"), strict=True):
            row["p_adjusted"] = p
    return table(rows, ("rater", "scale")).with_columns(
        pl.col("t", "p", "p_adjusted", "tested", "limit", "relative", "relative_low", "relative_high").cast(pl.Float64)
    )


def _once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a rater, what was not measured last and once, although there may be several scales."""
    measured = [row for row in rows if row.get("estimate") is not None]
    there = {row["effect"] for row in measured}
    missing = {row["effect"]: row for row in reversed(rows) if row["effect"] not in there}
    return measured + [missing[effect] for effect in dict.fromkeys(row["effect"] for row in rows) if effect in missing]


def _with_phrases(row: dict[str, Any], card: Card) -> dict[str, Any]:
    """A row with what follows from its interval, and its phrases."""
    unit, width = card.outcome.unit, card.outcome.width
    if row["effect"] in ("middle option", "middle responding", "extreme responding"):
        unit, width = "percentage points", 100.0
    ends = [row.get(end) for end in ("estimate", "low", "high")]
    relative = [None if end is None else 100 * end / width for end in ends]
    above, below, within = PHRASES.get(row["effect"]) or (
        f"A change of {row['effect']} raises answers ({row['contrast']})",
        f"A change of {row['effect']} lowers answers ({row['contrast']})",
        f"A change of {row['effect']} has no clear effect ({row['contrast']})",
    )
    limit = None if row.get("p") is None else max(abs(row["low"]), abs(row["high"]))
    return {
        "effect": row["effect"],
        "contrast": row["contrast"],
        "unit": unit,
        "limit": limit,
        **dict.fromkeys(("t", "p", "p_adjusted")),
        **dict(zip(("relative", "relative_low", "relative_high"), relative, strict=True)),
        **row,
        "tested": None if row.get("p") is None else row["estimate"],
        "above": above,
        "below": below,
        "within": within,
    }


def _shifted(card: Card, confidence: float) -> Iterator[dict[str, Any]]:
    """The effects of what was varied, and why others have none."""
    columns = [*_ordering(card), *_factors(card)]
    design = np.column_stack([column.values for column in columns]) if columns else np.zeros((len(card.value), 0))
    scored = card.outcome.scored(card.value)
    moved = shifts(scored, design, card.unit, card.item, card.raters) if columns else []
    rows = [_row(column, shift, confidence) for column, shift in zip(columns, moved, strict=True)]
    hidden = next((n for n, column in enumerate(columns) if column.effect == "middle option"), None)
    if hidden is not None:
        codes, middle = card.outcome.codes, len(card.outcome.codes) // 2
        beside = card.outcome.among(card.value, (codes[middle - 1], codes[middle + 1]))
        again = shifts(beside, design, card.unit, card.item, card.raters)[hidden]
        rows[hidden] = _row(columns[hidden], again, confidence)
    there = {row["effect"] for row in rows}
    factors = {"order": "order", "direction": "acquiescence", **FACTOR, "middle": "middle option"}
    why = {effect: _unvaried(card, factor) for factor, effect in factors.items()}
    why["letters"] = "order was not varied with letters and with other labels" if card.varied else why["labels"]
    dated = card.frame["__date"].drop_nulls().n_unique() > 0
    why["drift"] = "all judgments are of one date" if dated else "the judgments have no dates"
    rows += [_without(effect, reason) for effect, reason in why.items() if effect not in there]
    yield from sorted(rows, key=lambda row: ORDER.index(row["effect"]))


ORDER: Final = (
    *("order", "letters", "acquiescence", "labels", "wording", "format", "place of the reason", "examples"),
    *("question order", "opt-out", "middle option", "drift"),
)
"""The effects of presentations in the order of a card."""


def _row(column: Varied, shift: Contrast | str, confidence: float) -> dict[str, Any]:
    named = {"effect": column.effect, "contrast": column.contrast}
    if isinstance(shift, str):
        return {**named, "reason": shift}
    return {**named, **stated(replace(shift, estimate=column.sign * shift.estimate), confidence)}


def _without(effect: str, reason: str) -> dict[str, Any]:
    return {"effect": effect, "contrast": "", "reason": reason}


def _unvaried(card: Card, factor: str) -> str:
    if card.frame[COLUMN].null_count() == len(card.frame):
        return UNKNOWN
    levels = card.levels(factor)
    return f"{factor} has one level ({levels[0]})" if levels else f"{factor} was not varied"


def _ordering(card: Card) -> Iterator[Varied]:
    """How far the options fall: −½ where the lowest was listed first, ½ where the highest was."""
    order, seen = card.frame["order"], card.frame["seen"]
    fall = np.array([falling(a, b) for a, b in zip(order, seen, strict=True)])
    # The options of a reversed twin run backwards in the codes of the question.
    fall = np.where((card.frame["direction"] == "reversed").fill_null(value=False).to_numpy(), -fall, fall)
    if len(np.unique(fall)) < 2:
        return
    # On a nominal scale the first option counts, which is listed last where the order falls.
    sign = 1.0 if card.outcome.ordered else -1.0
    yield Varied("order", "down − up", fall, sign)
    letters = (card.frame["labels"] == "letters").fill_null(value=False).to_numpy()
    if all(len(np.unique(fall[part])) > 1 for part in (letters, ~letters)):
        yield Varied("letters", "down − up, letters − others", fall * letters, sign)


def _factors(card: Card) -> Iterator[Varied]:
    """What else was varied: the statement, the factors whose levels are compared, the middle option, and dates."""
    if len(levels := card.levels("direction")) > 1:
        # Towards the statement: 1 for the plain form, −1 for its reversed twin, 0 where both sides are stated.
        towards = card.frame["direction"].replace_strict({"plain": 1.0, "reversed": -1.0}, default=0.0)
        yield Varied("acquiescence", " − ".join(levels), towards.cast(pl.Float64).to_numpy())
    for factor, effect in FACTOR.items():
        first, *others = card.levels(factor) or [""]
        for level in others:
            yield Varied(effect, f"{level} − {first}", _marked(card.frame[factor] == level))
    if len(card.levels("middle")) > 1 and card.outcome.middle is not None:
        yield Varied("middle option", "hidden − shown", _marked(card.frame["middle"] == "hidden"))
    days = card.frame["__date"].drop_nulls().unique().sort().to_list()
    if len(days) > 1:
        cut = days[len(days) // 2]  # the later half of the dates
        yield Varied("drift", f"from {cut} − before", _marked(card.frame["__date"] >= cut))


def _marked(there: pl.Series) -> Floats:
    return there.fill_null(value=False).cast(pl.Float64).to_numpy()


def _levels(card: Card, confidence: float) -> Iterator[dict[str, Any]]:
    """What describes a rater by itself or beside people: middle, ends, repetition, and several questions."""
    outcome = card.outcome
    both = pl.concat([card.frame.with_columns(__own=pl.lit(1.0)), card.people.with_columns(__own=pl.lit(0.0))])

    def chosen(*codes: float) -> pl.DataFrame:
        return both.with_columns(__score=outcome.among(both["value"].to_numpy(), codes))

    middle = None if outcome.middle is None else chosen(outcome.middle)
    ends = chosen(*outcome.ends) if outcome.ordered and len(outcome.codes) > 2 else None
    again = _distances(both, [*UNIT, "rater", COLUMN, "__date"], card)
    across = _distances(both, ["item", "condition", "rater", "sample", COLUMN], card) if outcome.ordered else None
    yield _beside("middle responding", middle, UNIT, confidence, "the scale has no middle option")
    yield _beside("extreme responding", ends, UNIT, confidence, "the scale has no ends beside other options")
    yield _beside("test–retest", again, UNIT, confidence, "no question was put twice in the same way")
    unit, why = ("item", "condition"), "no two questions on this scale with an order"
    yield _beside("across questions", across, unit, confidence, why)


def _beside(
    effect: str, frame: pl.DataFrame | None, unit: Sequence[str], confidence: float, why: str
) -> dict[str, Any]:
    """The mean score of the rater less that of people on the same units; by itself where there are no such units.

    Without scores of the rater, the row says why.
    """
    if frame is None or not (frame["__own"] == 1).any():
        return _without(effect, why)
    paired = frame.filter((pl.col("__own").min() < pl.col("__own").max()).over(list(unit)))
    if paired.is_empty():
        own = frame.filter(pl.col("__own") == 1)
        several = encode(own, ["rater"]) if own["rater"].n_unique() > 1 else None
        ones = np.ones((len(own), 1))
        (level,) = shifts(own["__score"].to_numpy(), ones, None, encode(own, ["item"]), several)
        if isinstance(level, str):
            return {"effect": effect, "contrast": "level", "reason": "only one item was answered in this way"}
        return {"effect": effect, "contrast": "level", **stated(level, confidence, tested=False), "reason": NO_PEOPLE}
    mine = paired["__own"].to_numpy()
    several_people: Ints = np.where(mine == 1, -1, encode(paired, ["rater"]))
    place, item = encode(paired, unit), encode(paired, ["item"])
    (shift,) = shifts(paired["__score"].to_numpy(), mine[:, None], place, item, several_people)
    return _row(Varied(effect, "beyond people", mine), shift, confidence)


def _distances(frame: pl.DataFrame, cell: Sequence[str], card: Card) -> pl.DataFrame:
    """The mean distance of two answers in each cell that has two or more."""
    n = pl.len().cast(pl.Float64)
    if card.outcome.ordered:
        # The sum of all differences is a sum over ordered answers, each counted by how many lie below and above it.
        ranked = 2.0 * pl.int_range(pl.len()) - (n - 1)
        apart = 2 * (ranked * pl.col("value").sort()).sum() / (n * (n - 1))
        reach = 100 / (card.outcome.codes[-1] - card.outcome.codes[0]) if card.outcome.shares else 1.0
    else:
        same = pl.col("value").unique_counts().cast(pl.Float64)
        apart, reach = 1 - (same * (same - 1)).sum() / (n * (n - 1)), 100.0
    cells = frame.group_by(list(cell), maintain_order=True).agg(
        pl.col("__own").first(), pl.len().alias("__size"), (reach * apart).alias("__score")
    )
    return cells.filter(pl.col("__size") > 1)
