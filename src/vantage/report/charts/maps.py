"""Labelled points: groups by two scores, such as warmth and competence, and a lattice of sets by their values.

Labels keep out of each other's way (`labels`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from vantage.report.charts.frames import distinct, ends, groups, need, note
from vantage.report.charts.labels import place_labels
from vantage.report.style import FAINT, INK, PAGE, PALETTE, canvas, colours, markers, panels, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FEW: Final = 8
"""So many sets of a lattice all have their names."""
ELLIPSE: Final = ("ellipse_width", "ellipse_height", "ellipse_angle")


def group_map(
    frame: pl.DataFrame,
    *,
    x: str = "competence",
    y: str = "warmth",
    name: str = "group",
    cluster: str | None = None,
    panel: str | None = None,
    limits: tuple[float, float] | None = None,
    ghost: str | None = None,
    centres: bool = False,
    beside: int = 2,
    width: float = PAGE,
    height: float = 3.7,
) -> Drawing:
    """Groups as labelled points, one panel beside the other where there are several sources, all on the same axes."""
    need(frame, name, cluster, panel, ghost, drawn=(x, y))
    known, whole = frame.drop_nulls([x, y]), frame
    behind = known.filter(ghost) if ghost else known.clear()
    frame, known = (part.remove(ghost) if ghost else part for part in (frame, known))
    apart = max((len(distinct(part, cluster)) for _, part in groups(frame, panel)), default=0) > len(PALETTE)
    if apart:
        # More clusters than colours get a panel each.
        both = [pl.col(column).cast(pl.String) for column in (panel, cluster) if column]
        panel, known = "_panel", known.with_columns(pl.concat_str(both, separator=": ").alias("_panel"))
    parts = list(groups(known, panel))
    room = (limits, limits) if limits else (_span(whole, x), _span(whole, y))
    figure, all_axes, _ = panels(len(parts), width, height, beside, shared=False)
    clusters = distinct(frame, cluster)
    colour, marker = colours(clusters), markers(clusters)
    for axes, (title, part) in zip(all_axes, parts, strict=True):
        _ghosts(axes, behind.filter(pl.col(panel) == title) if panel in behind.columns else behind, x, y, name)
        for kind, members in groups(part, cluster):
            style: dict[str, Any] = {"color": colour[kind], "marker": marker[kind]}
            _intervals(axes, members, x, y, colour[kind])
            axes.plot(members[x].to_numpy(), members[y].to_numpy(), linestyle="", markersize=5.5, **style)
            _ellipses(axes, members, x, y, colour[kind])
            if centres and len(members) > 1:
                mean = members.select(pl.col(x, y).mean()).row(0)
                axes.plot([mean[0]], [mean[1]], marker="+", markersize=11, color=colour[kind], markeredgewidth=1.6)
        axes.grid(axis="both")
        axes.set(xlim=room[0], ylim=room[1])
        axes.set_xlabel(short(x))
        axes.set_ylabel(short(y))
        if panel is not None:
            axes.set_title(short(title, 46), loc="left")
    if cluster is not None and not apart:
        keys: dict[str, Any] = {"labelcolor": INK, "handletextpad": 0.2}
        points = [
            all_axes[0].plot([], [], linestyle="", marker=marker[one], color=colour[one], markersize=5.5)[0]
            for one in clusters
        ]
        names = [short(one) for one in clusters]
        figure.legend(points, names, loc="outside lower center", ncols=min(len(names), 3), **keys)
    # Only now, with axes in their final place, is it known how much room a label takes.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, (_, part) in zip(all_axes, parts, strict=True):
        labels = [None if label is None else short(label, 40) for label in part[name]]
        place_labels(axes, part[x].to_list(), part[y].to_list(), labels)
    return figure


def _ghosts(axes: Axes, circles: pl.DataFrame, x: str, y: str, name: str) -> None:
    """What points are compared with: grey circles, with small names where they have some."""
    grey: dict[str, Any] = {"color": FAINT, "markerfacecolor": "none", "markersize": 6.5, "zorder": 1.2}
    axes.plot(circles[x].to_numpy(), circles[y].to_numpy(), linestyle="", marker="o", **grey)
    small: dict[str, Any] = {"color": FAINT, "fontsize": 6.5, "clip_on": True, "zorder": 1.2, "ha": "center"}
    for left, up, text in circles.drop_nulls(name).select(x, y, name).iter_rows():
        note(axes, short(text, 30), (left, up), (0, -9), **small)


def _span(frame: pl.DataFrame, column: str) -> tuple[float, float]:
    """The ends of an axis on which all points and intervals have room."""
    known = [one for one in (column, f"{column}_low", f"{column}_high") if one in frame.columns]
    numbers = frame.select(pl.col(known).cast(pl.Float64))
    low, high = numbers.min().min_horizontal().item(), numbers.max().max_horizontal().item()
    return low - 0.12 * ((high - low) or 1), high + 0.12 * ((high - low) or 1)


def _intervals(axes: Axes, members: pl.DataFrame, x: str, y: str, colour: str) -> None:
    """Crosses: the intervals of both scores, where they are known and there is no ellipse."""
    if ELLIPSE[0] in members.columns:
        members = members.filter(pl.col(ELLIPSE[0]).is_null())
    thin: dict[str, Any] = {"color": colour, "linewidth": 0.8, "alpha": 0.55, "zorder": 1.5}
    if across := ends(members, f"{x}_low", f"{x}_high"):
        axes.hlines(members[y], *across, **thin)
    if upwards := ends(members, f"{y}_low", f"{y}_high"):
        axes.vlines(members[x], *upwards, **thin)


def _ellipses(axes: Axes, members: pl.DataFrame, x: str, y: str, colour: str) -> None:
    """The regions of both scores together, where they are known."""
    from matplotlib.patches import Ellipse

    if ELLIPSE[0] not in members.columns:
        return
    for left, up, width, height, angle in members.drop_nulls(ELLIPSE[0]).select(x, y, *ELLIPSE).iter_rows():
        region: dict[str, Any] = {"facecolor": colour, "edgecolor": colour, "alpha": 0.16, "linewidth": 0.6}
        axes.add_patch(Ellipse((left, up), width, height, angle=angle, zorder=1.4, **region))


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
    """Sets by their size and value, each joined to those of one part more, one panel below the other."""
    need(frame, sets, panel, drawn=value)
    known = frame.drop_nulls(value).with_columns(pl.col(sets).cast(pl.String), pl.col(value).cast(pl.Float64))
    parts = list(groups(known, panel))
    figure, all_axes = canvas(width, height * len(parts), len(parts), 1)
    for axes, (title, part) in zip(all_axes, parts, strict=True):
        members = [frozenset(name.split(separator)) for name in part[sets]]
        heights = part[value].to_list()
        for smaller, low in zip(members, heights, strict=True):
            for larger, high in zip(members, heights, strict=True):
                if smaller < larger and len(larger) == len(smaller) + 1:
                    across = [len(smaller), len(larger)]
                    axes.plot(across, [low, high], color=FAINT, linewidth=0.5, alpha=0.6, zorder=1)
        sizes = [len(member) for member in members]
        axes.plot(sizes, heights, linestyle="", marker="o", markersize=5, color=PALETTE[0], zorder=3)
        axes.set_xticks(range(1, max(sizes) + 1))
        axes.set_xlim(0.5, max(sizes) + 0.5)
        axes.margins(y=0.15)
        axes.set_ylabel(short(label or value))
        axes.set_title(short(title, 60), loc="left")
        axes.grid(axis="y")
    all_axes[-1].set_xlabel("how many are joined")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, (_, part) in zip(all_axes, parts, strict=True):
        sizes = [len(name.split(separator)) for name in part[sets]]
        # All names of many sets would fill the panel: the single parts and the whole have theirs.
        named = {*range(1, max(sizes) + 1)} if len(sizes) <= FEW else {1, max(sizes)}
        labels = [short(name, 40) if n in named else None for name, n in zip(part[sets], sizes, strict=True)]
        place_labels(axes, sizes, part[value].to_list(), labels)
    return figure
