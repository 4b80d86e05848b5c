"""Models without and with context: F1 against the original labels, and what the controls of context explain.

A run is scored by itself, and a model's score is the mean over its runs. All conditions are scored on the same items,
and the same resampled items give the interval of their difference. An answer "ambiguous" is no label and counts as
wrong, and so does an answer that cannot be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.context.controls import CONTEXT, KINDS, STATIC, target
from vantage.context.thresholds import LEAST
from vantage.measures.ratings import Floats
from vantage.measures.resampling import Resampling
from vantage.measures.scoring.scores import Metric, Rules, Scores
from vantage.raters.style import Style
from vantage.report.recipe import Data
from vantage.studies.context.analysis import Judged, Statements, once, paired
from vantage.studies.context.tasks import TASK

ALL: Final = "all"
NEEDED: Final = "context needed"
REST: Final = "the rest"
SELECTIVE: Final = "selective"
DRAWS: Final = 20
"""Random selections with which a selective one is compared."""
F1: Final = Metric("f1", "macro")
WRONG: Final[dict[str, Any]] = {"missing": "wrong", "opt_outs": "wrong"}
_CONDITIONS: Final = {STATIC: "static", CONTEXT: "context", SELECTIVE: "flagged only"}


@dataclass(frozen=True)
class Rated:
    """What one model said in one style, beside the original labels, and how it is scored.

    Args:
        part: The statements of the task.
        named: Its `task`, `model`, `style` and `rater`.
        judged: Its judgments, with the label in `gold` and the run in `person`.
    """

    part: Statements
    named: Mapping[str, str]
    judged: pl.DataFrame

    def under(self, condition: str) -> pl.DataFrame:
        """Its judgments under one condition."""
        return self.judged.filter(condition=condition)

    def common(self, *conditions: str) -> pl.DataFrame:
        """The items that were judged under all of the conditions, with their positions."""
        found = self.judged.filter(pl.col("condition").is_in(conditions))
        counts = found.group_by("item").agg(pl.col("condition").n_unique())
        return counts.filter(condition=len(conditions)).select("item").sort("item").with_row_index("position")

    def selective(self, flagged: Collection[str]) -> pl.DataFrame:
        """Answers with context for flagged items and without it for all others, also where a context was dropped."""
        inside = self.under(CONTEXT).filter(pl.col("item").is_in(list(flagged)))
        return pl.concat([self.under(STATIC).join(inside, on="item", how="anti"), inside])

    def scores(
        self,
        frames: Mapping[str, pl.DataFrame],
        items: pl.DataFrame,
        differences: Mapping[str, tuple[str, str]],
        *,
        intervals: bool = True,
    ) -> dict[str, Any]:
        """F1 of every frame and differences of two of them, each with an interval over items.

        Fewer than ten items have no interval: resampled so few, they would only repeat themselves.
        """
        if items.is_empty():
            return {"reason": "no item of this part was judged under all conditions"}
        rules = Rules(np.array(self.part.question.scale.codes, dtype=np.float64), **WRONG)
        every = {name: Scores.of(frame, rules, _runs(frame), items) for name, frame in frames.items()}

        def statistics(weight: Floats) -> Floats:
            found = {name: one.values(weight, [F1])[:, 0] for name, one in every.items()}
            return np.column_stack([*found.values(), *(found[one] - found[two] for one, two in differences.values())])

        ci: Any = "items" if intervals and len(items) >= LEAST else "none"
        how = Resampling(ci, resamples=self.part.options.resamples, seed=self.part.seed)
        row: dict[str, Any] = {}
        estimates = statistics(np.ones((1, len(items))))[0]
        bounds = how.intervals(len(items), statistics)
        for name, estimate, (low, high) in zip([*every, *differences], estimates, bounds, strict=True):
            row |= {name: float(estimate), f"{name}_low": low, f"{name}_high": high}
        return row


def _runs(frame: pl.DataFrame) -> list[str | None]:
    return frame["person"].unique().sort().to_list() or [None]


def rated(part: Statements) -> Iterator[Rated]:
    """Every model in every style that judged the statements of a task."""
    known = {row["rater"]: row for row in part.corpus.raters.iter_rows(named=True)}
    gold = part.labels.select("item", pl.col("value").alias("gold"))
    judged = part.said("model").join(gold, on="item", maintain_order="left")
    judged = judged.with_columns(pl.col("sample").cast(pl.String).alias("person"))
    for (rater,), rows in judged.group_by("rater", maintain_order=True):
        row = known[str(rater)]
        named = {"model": row.get("model") or rater, "style": row.get("style") or "", "rater": rater}
        yield Rated(part, {TASK: part.task.name, **named}, rows)


def parts_of(items: Sequence[str], flagged: Collection[str]) -> dict[str, list[str]]:
    """The items as a whole and, where some are flagged, those that need context and the rest."""
    parts = {ALL: list(items)}
    if flagged:
        parts[NEEDED] = [item for item in items if item in flagged]
        parts[REST] = [item for item in items if item not in flagged]
    return parts


@once
def f1(analysis: Judged) -> Data | None:
    """F1 of each model without context, with it and with it for flagged items only, on all items and on parts."""
    rows = [
        {**one.named, **row}
        for part in analysis.parts.values()
        for one in rated(part)
        for row in before_and_after(one, part.flagged)
    ]
    flagged = sum(len(part.flagged) for part in analysis.parts.values())
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"flagged": flagged or None}) if rows else None


def before_and_after(one: Rated, flagged: Collection[str]) -> Iterator[dict[str, Any]]:
    """One row per part of the items: F1 in each condition and the difference that context makes, with intervals."""
    conditions = [name for name in (STATIC, CONTEXT) if len(one.under(name))]
    both = len(conditions) == 2
    every = one.common(*conditions)["item"].to_list()
    for part, kept in parts_of(every, flagged).items():
        items = pl.DataFrame({"item": kept}, schema={"item": pl.String}).with_row_index("position")
        frames = {name: one.under(name) for name in conditions}
        row: dict[str, Any] = {"part": part, "items": len(items)}
        for name, frame in frames.items():
            row |= _declined(frame.join(items, on="item", how="semi"), name)
        if both and flagged and part == ALL:
            frames[SELECTIVE] = one.selective(flagged)
            row["random"] = _by_lot(one, items, len(set(flagged) & set(every)))
        yield {**row, **one.scores(frames, items, {"difference": (CONTEXT, STATIC)} if both else {})}


def _by_lot(one: Rated, items: pl.DataFrame, count: int) -> float:
    """Mean F1 when context goes to as many items drawn by lot."""
    rng = np.random.default_rng(one.part.seed)
    drawn = [rng.choice(items["item"].to_list(), count, replace=False).tolist() for _ in range(DRAWS)]
    scores = [one.scores({"f1": one.selective(some)}, items, {}, intervals=False)["f1"] for some in drawn]
    return float(np.mean(scores))


def _declined(frame: pl.DataFrame, name: str) -> dict[str, float]:
    """The share of answers "ambiguous", and of those that are no answer at all."""
    status = frame["status"].cast(pl.String)
    if not len(status):
        return {}
    unclear, lost = status == "ambiguous", status.is_in(["refused", "unparsed", "failed"])
    return {f"ambiguous_{name}": int(unclear.sum()) / len(status), f"unread_{name}": int(lost.sum()) / len(status)}


def f1_by_condition(analysis: Judged) -> pl.DataFrame | None:
    """The same on all items, one row for each condition, with the number of examples in the prompt."""
    found = f1(analysis)
    if found is None:
        return None
    whole = found.frame.filter(part=ALL).with_columns(
        shots=pl.col("style").map_elements(_shots, return_dtype=pl.Int64, skip_nulls=False),
        who=pl.format("{}: {}, {}", TASK, "model", "style"),
    )
    long = [
        whole.select(
            "who", "shots", pl.lit(title).alias("condition"), estimate=name, low=f"{name}_low", high=f"{name}_high",
            series=pl.format("{}: {}, {}", TASK, "model", pl.lit(title)),
        )
        for name, title in _CONDITIONS.items()
        if name in whole.columns
    ]  # fmt: skip
    return pl.concat(long).drop_nulls("estimate")


def f1_by_examples(analysis: Judged) -> pl.DataFrame | None:
    """F1 by the number of examples, where models were asked with several."""
    long = f1_by_condition(analysis)
    some = None if long is None else long.filter(pl.col("condition") != _CONDITIONS[SELECTIVE]).drop_nulls("shots")
    return some if some is not None and some["shots"].n_unique() > 1 else None


def _shots(style: str) -> int | None:
    """The number of examples of a style that is nothing but that."""
    plain = style == "zero-shot" or (style.startswith("few-shot:") and "+" not in style)
    return Style.parse(style).shots if plain else None


@once
def effects(analysis: Judged) -> pl.DataFrame:
    """One row for each model and kind of context: F1 without and with it on the same items, and what follows it.

    `gain` is the difference for contexts written for the label, `control` that for the others. `beyond` is F1 with
    the label's context less F1 with one that was written without a label. An answer follows a context when it is the
    label that the context was written for; `followed` is the change of that share with opposite contexts.
    """
    rows = [
        {**one.named, "who": "{model}, {style} ({task})".format_map(one.named), **row}
        for part in analysis.parts.values()
        for one in rated(part)
        for row in _kinds(one)
    ]
    return pl.DataFrame(rows, schema=_EFFECTS, orient="row")


def _kinds(one: Rated) -> Iterator[dict[str, Any]]:
    for written_for, kind in KINDS.items():
        condition = CONTEXT if written_for == "label" else f"{CONTEXT}-{written_for}"
        items = one.common(STATIC, condition)
        if items.is_empty():
            continue
        frames = {STATIC: one.under(STATIC), CONTEXT: one.under(condition)}
        row = {"written_for": written_for, "kind": kind, "items": len(items)}
        row |= one.scores(frames, items, {"difference": (CONTEXT, STATIC)})
        row["gain" if written_for == "label" else "control"] = row["difference"]
        if written_for in ("label", "opposite"):
            row |= _following(one, frames, items, written_for)
        if written_for == "blind" and len(both := one.common(STATIC, CONTEXT, condition)):
            pair = {"label": one.under(CONTEXT), "blind": frames[CONTEXT]}
            found = one.scores(pair, both, {"beyond": ("label", "blind")})
            row |= {name: value for name, value in found.items() if name.startswith("beyond")}
        yield row


def _following(one: Rated, frames: Mapping[str, pl.DataFrame], items: pl.DataFrame, written_for: Any) -> dict[str, Any]:
    """The shares of answers that are the label of a context, without and with it."""
    scale, shares, means = one.part.question.scale, {}, []
    for name, frame in frames.items():
        mine = frame.join(items, on="item", how="semi")
        aims = pl.Series([target(scale, gold, written_for) for gold in mine["gold"]], dtype=pl.Float64)
        hit = mine.select("item", hit=(mine["value"] == aims).fill_null(value=False).cast(pl.Float64))
        shares[name] = float(hit["hit"].mean())  # type: ignore[arg-type]
        means.append(hit.group_by("item").agg(pl.col("hit").mean()).sort("item")["hit"].to_numpy())
    row: dict[str, Any] = {"follows_static": shares[STATIC], "follows": shares[CONTEXT]}
    return row | (paired("followed", means[1] - means[0]) if written_for == "opposite" else {})


_EFFECTS: Final[dict[str, Any]] = {
    **dict.fromkeys((TASK, "model", "style", "rater", "who", "written_for", "kind"), pl.String),
    "items": pl.Int64,
    **{
        f"{name}{end}": pl.Float64
        for name in (STATIC, CONTEXT, "difference", "beyond", "followed")
        for end in ("", "_low", "_high")
    },
    **dict.fromkeys(("gain", "control", "follows_static", "follows"), pl.Float64),
}
