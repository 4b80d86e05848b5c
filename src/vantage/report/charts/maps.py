"""The map of groups by two scores, such as warmth and competence, with labels that keep out of each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from vantage.report.charts.empty import no_data
from vantage.report.charts.frames import distinct, groups, need, nothing
from vantage.report.charts.labels import place_labels
from vantage.report.style import FAINT, INK, PAGE, canvas, colours, markers
from vantage.report.style import label as short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def group_map(
    frame: pl.DataFrame,
    *,
    x: str = "competence",
    y: str = "warmth",
    name: str = "group",
    cluster: str | None = None,
    panel: str | None = None,
    x_label: str = "",
    y_label: str = "",
    limits: tuple[float, float] | None = None,
    centres: bool = False,
    cross: float | None = None,
    own_axes: bool = False,
    beside: int = 2,
    width: float = PAGE,
    height: float = 3.7,
) -> Drawing:
    """Groups as labelled points, one panel beside the other where there are several sources.

    Args:
        frame: One row per group and panel.
        x: The column of the horizontal score.
        y: The column of the vertical score.
        name: The column of the labels; a point without a label is only a point.
        cluster: The column that gives colour and marker.
        panel: The column of the panels, such as people and model.
        x_label: The title of the horizontal axis; the column's name without it.
        y_label: The title of the vertical axis.
        limits: The ends of both axes, such as those of the scale; those of the data without it.
        centres: Whether the mean of each cluster is marked.
        cross: Where two lines cross that part the map into four.
        own_axes: Whether every panel has axes of its own, for scores that cannot be compared across panels.
        beside: How many panels stand in a row; a map of many groups needs the whole width.
        width: The width in inches.
        height: The height of a row of panels in inches.
    """
    need(frame, x, y, name, cluster, panel)
    known = frame.drop_nulls([x, y])
    if nothing(frame, x, y):
        return no_data()
    panels = distinct(known, panel)
    columns = min(len(panels), beside)
    rows = -(-len(panels) // columns)
    shared = not own_axes and limits is None
    figure, all_axes = canvas(width, height * rows, rows, columns, sharex=shared, sharey=shared)
    clusters = distinct(frame, cluster)
    colour, marker = colours(clusters), markers(clusters)
    for axes, (title, part) in zip(all_axes, groups(known, panel), strict=False):
        for kind, members in groups(part, cluster):
            style: dict[str, Any] = {"color": colour[kind], "marker": marker[kind]}
            axes.plot(members[x].to_numpy(), members[y].to_numpy(), linestyle="", markersize=5.5, **style)
            if centres and len(members) > 1:
                mean = members.select(pl.col(x, y).mean()).row(0)
                axes.plot([mean[0]], [mean[1]], marker="+", markersize=11, color=colour[kind], markeredgewidth=1.6)
        _furnish(axes, part, x, y, limits, cross)
        axes.set_xlabel(short(x_label or x))
        axes.set_ylabel(short(y_label or y))
        if panel is not None:
            axes.set_title(short(title, 60), loc="left")
    for axes in all_axes[len(panels) :]:
        axes.set_axis_off()
    if cluster is not None:
        _legend(figure, all_axes[0], clusters, colour, marker)
    # Only now, with axes in their final place, is it known how much room a label takes.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, (_, part) in zip(all_axes, groups(known, panel), strict=False):
        told = [None if label is None else short(label, 40) for label in part[name]]
        place_labels(axes, part[x].to_list(), part[y].to_list(), told)
    return figure


def _furnish(
    axes: Axes, part: pl.DataFrame, x: str, y: str, limits: tuple[float, float] | None, cross: float | None
) -> None:
    axes.grid(axis="both")
    axes.margins(0.12)
    if limits:
        axes.set(xlim=limits, ylim=limits)
    if cross is not None:
        axes.axhline(cross, color=FAINT, linewidth=0.8, zorder=1)
        axes.axvline(cross, color=FAINT, linewidth=0.8, zorder=1)


def _legend(figure: Drawing, axes: Axes, clusters: list[Any], colour: dict[Any, str], marker: dict[Any, str]) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], linestyle="", marker=marker[kind], color=colour[kind], label=short(kind), markersize=5.5)
        for kind in clusters
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 3), labelcolor=INK, handletextpad=0.2)
