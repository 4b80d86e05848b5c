"""The Wright map: raters and items side by side on one ruler of logits, with the thresholds between answers.

Up to `NAMED` raters or items are drawn one by one, with their names and intervals; more become a histogram of which
only the outermost are named. Models, personas and trained raters share a panel while there are few, and have one for
each kind beyond. Questions and conditions have panels of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.corpora.schema import PEOPLE
from vantage.report.charts.frames import REFERENCE, need, note
from vantage.report.style import FAINT, INK, PAGE, canvas, colours, markers, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

NAMED: Final = 30
"""The most raters, or items, that are drawn one by one."""
OUTERMOST: Final = 3
"""How many at each end of a histogram are named."""
NAME: Final = 18
"""How many characters of a name are shown."""
APART: Final = ("item", "question", "condition")
"""Facets that are no raters; each has its panel."""
WORDS: Final = {"person": ("person", "people"), "trained": ("trained rater", "trained raters")}


def wright(frame: pl.DataFrame, *, value: str = "estimate", width: float = PAGE, height: float = 4.6) -> Drawing:
    """Raters to the left and items to the right of one ruler; thresholds are dashed lines through both."""
    need(frame, "facet", "name", drawn=value)
    known = frame.drop_nulls(value).with_columns(pl.col(value).cast(pl.Float64).alias("estimate"))
    steps = known.filter(pl.col("facet") == "threshold")
    raters = known.filter(~pl.col("facet").is_in([*APART, "threshold"]))
    kinds = raters["facet"].unique(maintain_order=True).to_list()
    ink, shape = {**colours(kinds), **dict.fromkeys(APART, INK)}, {**markers(kinds), **dict.fromkeys(APART, "o")}
    people = raters.filter(pl.col("facet").is_in(PEOPLE))
    others = raters.filter(~pl.col("facet").is_in(PEOPLE)).sort("facet", "estimate")
    beside = [others] if len(others) <= NAMED else others.partition_by("facet", maintain_order=True)
    panels = [part for part in (people, *beside, *(known.filter(facet=one) for one in APART)) if len(part)]
    shares = [1.4 if len(part) > NAMED else 0.5 + 0.055 * min(len(part), NAMED) for part in panels]
    figure, all_axes = canvas(width, height, 1, len(panels), sharey=True, gridspec_kw={"width_ratios": shares})
    bottom, top = _limits(known)
    for axes, part in zip(all_axes, panels, strict=True):
        if len(part) > NAMED:
            _crowd(axes, part, ink[part["facet"][0]], mirrored=part is people)
        else:
            _single(axes, part, ink, shape, (bottom, top))
        for at in steps["estimate"]:
            axes.axhline(at, **{**REFERENCE, "linewidth": 0.7})
        among = part["facet"].unique(maintain_order=True).to_list()
        if len(among) > 1:
            for kind in among:
                axes.plot([], [], linestyle="", marker=shape[kind], color=ink[kind], markersize=4.2, label=short(kind))
            axes.legend(loc="lower center", fontsize=7, handletextpad=0.1, borderaxespad=0.1)
        one, several = WORDS.get(among[0], (among[0], f"{among[0]}s"))
        mixed = "people" if part is people else "raters beside them"
        axes.set_title(f"{len(part):,} {mixed if len(among) > 1 else several if len(part) > 1 else one}", loc="left")
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.spines["left"].set_visible(axes is all_axes[0])
        axes.tick_params(axis="y", length=3 if axes is all_axes[0] else 0)
    # The two answers that each threshold lies between, at the right margin, moved where two would overlap.
    last, how = -np.inf, {"va": "center", "fontsize": 7, "color": FAINT, "annotation_clip": False}
    for name, at in steps.sort("estimate").select("name", "estimate").iter_rows():
        last = max(at, last + 0.03 * (top - bottom))
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), **how}
        note(all_axes[-1], short(name.replace("|", " | ")), (1, last), (4, 0), **place)
    all_axes[0].set_ylim(bottom, top)
    all_axes[0].set_ylabel("logits (up: stricter raters, higher items)")
    return figure


def _limits(known: pl.DataFrame) -> tuple[float, float]:
    """The ends of the ruler: all estimates, and intervals as far as they do not dwarf them."""
    values = known["estimate"].to_numpy()
    ends = known.select(pl.col("^low|high$").cast(pl.Float64)).to_numpy().ravel()
    span = max(float(np.ptp(values)), 1.0)
    reach = np.clip(ends[np.isfinite(ends)], values.min() - 0.35 * span, values.max() + 0.35 * span)
    every = np.concatenate([values, reach])
    return float(every.min()) - 0.06 * span, float(every.max()) + 0.06 * span


def _single(
    axes: Axes, part: pl.DataFrame, ink: dict[Any, str], shape: dict[Any, str], limits: tuple[float, float]
) -> None:
    """One point with its interval and its name each, sorted from low to high; names are above, or below at the top."""
    room = 0.12 * (limits[1] - limits[0])
    rows = part.sort("estimate").to_dicts()
    for place, row in enumerate(rows):
        low, high = (row[end] if row.get(end) is not None else row["estimate"] for end in ("low", "high"))
        axes.vlines(place, low, high, color=ink[row["facet"]], linewidth=1.1, alpha=0.75)
        axes.plot([place], [row["estimate"]], marker=shape[row["facet"]], markersize=4.2, color=ink[row["facet"]])
        at, offset, side = (high, 3, "bottom") if high + room < limits[1] else (low, -3, "top")
        note(axes, short(row["name"], NAME), (place, at), (0, offset), rotation=90, ha="center", va=side, fontsize=6.8)
    axes.set_xlim(-0.8, len(rows) - 0.2)


def _crowd(axes: Axes, part: pl.DataFrame, colour: str, *, mirrored: bool) -> None:
    """A histogram along the ruler, with the outermost named."""
    ordered = part.sort("estimate")
    values, names = ordered["estimate"].to_numpy(), [short(name, NAME) for name in ordered["name"]]
    most = float(max(axes.hist(values, bins=30, orientation="horizontal", color=colour, alpha=0.7, rwidth=0.9)[0]))
    across = {"ha": "right" if mirrored else "left", "fontsize": 6.8, "color": INK}
    beside = -4 if mirrored else 4
    note(axes, "\n".join(names[:OUTERMOST]), (0, values[0]), (beside, -4), va="top", **across)
    note(axes, "\n".join(names[: -OUTERMOST - 1 : -1]), (0, values[-1]), (beside, 4), va="bottom", **across)
    axes.set_xlim((1.2 * most, 0) if mirrored else (0, 1.2 * most))
