"""The Wright map: raters and items side by side on one ruler of logits, with the thresholds between answers.

Up to `NAMED` raters or items are drawn one by one, with their names and intervals; more become a histogram with the
typical interval beside it, and only the outermost are named. Models, personas and trained raters share a panel while
there are few, and have one for each kind beyond, so that models keep their names beside a crowd of personas. Questions
and conditions have panels of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.corpora.schema import PEOPLE
from vantage.report.charts.frames import REFERENCE, need, note
from vantage.report.style import FAINT, INK, PAGE, TIP, canvas, colours, markers, short

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
    """Raters to the left and items to the right of one ruler; thresholds are dashed lines through both.

    Args:
        frame: One row per rater, item and threshold, as `vantage.measures.facets(…, show="ruler")` gives it:
            `facet` (the kind of a rater, `item` or `threshold`), `name`, `estimate`, `low` and `high`.
        value: The column of the locations.
        width: The width in inches.
        height: The height in inches.
    """
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
    _name_thresholds(all_axes[-1], steps, 0.03 * (top - bottom))
    all_axes[0].set_ylim(bottom, top)
    all_axes[0].set_ylabel("logits (up: stricter raters, higher items)")
    return figure


def _name_thresholds(axes: Axes, steps: pl.DataFrame, apart: float) -> None:
    """The two answers that each threshold lies between, at the right margin, moved where two would overlap."""
    last = -np.inf
    for name, at in steps.sort("estimate").select("name", "estimate").iter_rows():
        last = max(at, last + apart)
        how: dict[str, Any] = {"va": "center", "fontsize": 7, "color": FAINT, "annotation_clip": False}
        note(axes, short(name.replace("|", " | ")), (1, last), (4, 0), xycoords=("axes fraction", "data"), **how)


def _limits(known: pl.DataFrame) -> tuple[float, float]:
    """The ends of the ruler: all estimates, and intervals as far as they do not dwarf them."""
    values = known["estimate"]
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    margin = 0.06 * max(high - low, 1.0)
    reach = 0.35 * max(high - low, 1.0)
    ends = [known[name].drop_nulls() if name in known.columns else values for name in ("low", "high")]
    bottom, top = (
        float(series.quantile(q) or 0.0) if len(series) else 0.0 for series, q in zip(ends, (0.02, 0.98), strict=True)
    )
    return max(min(low, bottom), low - reach) - margin, min(max(high, top), high + reach) + margin


def _single(
    axes: Axes, part: pl.DataFrame, ink: dict[Any, str], shape: dict[Any, str], limits: tuple[float, float]
) -> None:
    """One point with its interval and its name each, sorted from low to high; names are above, or below at the top."""
    room = 0.12 * (limits[1] - limits[0])
    rows = part.sort("estimate").to_dicts()
    for place, row in enumerate(rows):
        colour, marker = ink[row["facet"]], shape[row["facet"]]
        if row.get("low") is not None:
            axes.plot([place, place], [row["low"], row["high"]], color=colour, linewidth=1.1, alpha=0.75)
        axes.plot(
            [place], [row["estimate"]], marker=marker, markersize=4.2, color=colour, markeredgewidth=0, gid=_tip(row)
        )
        low, high = (row[end] if row.get(end) is not None else row["estimate"] for end in ("low", "high"))
        above = high + room < limits[1]
        at, offset, side = (high, 3, "bottom") if above else (low, -3, "top")
        note(axes, short(row["name"], NAME), (place, at), (0, offset), rotation=90, ha="center", va=side, fontsize=6.8)
    axes.set_xlim(-0.8, len(rows) - 0.2)


def _crowd(axes: Axes, part: pl.DataFrame, colour: str, *, mirrored: bool) -> None:
    """A histogram along the ruler, with the outermost named and the typical interval beside it."""
    values = part["estimate"].to_numpy()
    step = max(np.ptp(values) / 30, 1e-6)
    edges = np.arange(values.min() - step / 2, values.max() + step, step)
    place = np.digitize(values, edges) - 1
    sizes = np.bincount(place, minlength=len(edges))
    most = int(sizes.max())
    names = part["name"].to_list()
    for bin_, size in enumerate(sizes.tolist()):
        if size:
            inside = [short(names[n], NAME) for n in np.flatnonzero(place == bin_)[:8]]
            listed = ", ".join(inside) + (f" and {size - len(inside):,} more" if size > len(inside) else "")
            tip = f"{TIP}{size:,} from {edges[bin_]:.2f} to {edges[bin_] + step:.2f}: {listed}"
            axes.barh(edges[bin_] + step / 2, size, height=0.9 * step, color=colour, alpha=0.7, linewidth=0)
            axes.patches[-1].set_gid(tip)
    order = np.argsort(values)
    for end, chosen in (((-4, "top"), order[:OUTERMOST]), ((4, "bottom"), order[-OUTERMOST:][::-1])):
        outermost = [short(names[n], NAME) for n in chosen]
        apart = ", " if sum(map(len, outermost)) <= NAME else "\n"
        (across, ha), (up, va) = (-4, "right") if mirrored else (4, "left"), end
        at = (0, values[chosen[0]])
        note(axes, apart.join(outermost), at, (across, up), ha=ha, va=va, fontsize=6.8, color=INK)
    if {"low", "high"} <= set(part.columns):
        half = float(((part["high"] - part["low"]) / 2).median() or 0.0)  # type: ignore[arg-type]
        middle = float(np.median(values))
        axes.errorbar(
            [1.12 * most], [middle], yerr=[half], color=colour, linewidth=1.1, marker="o", markersize=3, capsize=2
        )
        where = (1.12 * most, middle - half)
        note(axes, "typical interval", where, (0, -3), ha="center", va="top", fontsize=6.8, color=FAINT)
    axes.set_xlim((1.4 * most, 0) if mirrored else (0, 1.4 * most))


def _tip(row: dict[str, Any]) -> str:
    """What the browser shows where the pointer rests on a point."""
    ends = f", {row['low']:.2f} to {row['high']:.2f}" if row.get("low") is not None else ""
    fit = f", infit {row['infit']:.2f}" if row.get("infit") is not None else ""
    fair = f", fair average {row['fair']:.2f}" if row.get("fair") is not None else ""
    return f"{TIP}{short(row['name'], 60)}: {row['estimate']:.2f}{ends}{fit}{fair}"
