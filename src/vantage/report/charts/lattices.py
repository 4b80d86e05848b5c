"""A lattice of sets: every combination of some parts at the height of its value, joined to those one part larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vantage.report.charts.frames import distinct, groups, need
from vantage.report.charts.labels import place_labels
from vantage.report.style import FAINT, PAGE, PALETTE, canvas, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def lattice(
    frame: pl.DataFrame,
    *,
    sets: str = "sets",
    value: str = "estimate",
    panel: str | None = None,
    separator: str = " + ",
    label: str = "",
    width: float = PAGE,
    height: float = 3.2,
) -> Drawing:
    """Sets from the smallest on the left to the whole on the right, one panel below the other.

    Args:
        frame: One row per set and panel.
        sets: The column of the sets, each its parts joined by the separator.
        value: The column of the heights.
        panel: The column of the panels.
        separator: What joins the parts of a set.
        label: What the values are.
        width: The width in inches.
        height: The height of a panel in inches.
    """
    need(frame, sets, panel, drawn=value)
    known = frame.drop_nulls(value)
    panels = distinct(known, panel)
    figure, all_axes = canvas(width, height * len(panels), len(panels), 1)
    for axes, (title, part) in zip(all_axes, groups(known, panel), strict=True):
        names = [str(name) for name in part[sets]]
        members = [frozenset(name.split(separator)) for name in names]
        heights = part[value].cast(pl.Float64).to_list()
        for one, first in enumerate(members):
            for other, second in enumerate(members):
                if first < second and len(second) == len(first) + 1:
                    ends = [len(first), len(second)], [heights[one], heights[other]]
                    axes.plot(*ends, color=FAINT, linewidth=0.5, alpha=0.6, zorder=1)
        sizes = [len(member) for member in members]
        axes.plot(sizes, heights, linestyle="", marker="o", markersize=5, color=PALETTE[0], zorder=3)
        most = max(sizes)
        axes.set_xticks(range(1, most + 1))
        axes.set_xlim(0.5, most + 0.5)
        axes.margins(y=0.15)
        axes.set_ylabel(short(label or value))
        axes.set_title(short(title, 60), loc="left")
        axes.grid(axis="y")
    all_axes[-1].set_xlabel("how many are joined")
    # Labels can only be placed once the axes have their final size; sets of three and more would fill the panel.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, (_, part) in zip(all_axes, groups(known, panel), strict=True):
        sizes = [len(str(name).split(separator)) for name in part[sets]]
        named = [short(name, 40) if n in (1, max(sizes)) else None for name, n in zip(part[sets], sizes, strict=True)]
        if len(named) > 1 and len(named) <= 8:
            named = [short(name, 40) for name in part[sets]]
        place_labels(axes, [float(n) for n in sizes], part[value].cast(pl.Float64).to_list(), named)
    return figure
