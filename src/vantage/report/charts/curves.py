"""Lines: a number that depends on another, with its band, and ranks that shift from one stage to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from vantage.report.charts.frames import REFERENCE, distinct, ends, facets, groups, need, note
from vantage.report.style import FAINT, PAGE, PALETTE, PEOPLE, canvas, colours, markers, panels, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def curve(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str = "estimate",
    low: str = "low",
    high: str = "high",
    series: str | None = None,
    x_label: str = "",
    label: str = "",
    reference: float | None = None,
    chosen: str | None = None,
    limits: tuple[float, float] | None = None,
    width: float = PAGE,
    height: float = 2.8,
) -> Drawing:
    """One line per series, with a band where there are intervals."""
    from matplotlib.ticker import MaxNLocator

    need(frame, series, chosen, drawn=(x, y))
    known = frame.drop_nulls([x, y]).with_columns(pl.col(x, y).cast(pl.Float64)).sort(x, maintain_order=True)
    parts = facets(known, series)
    colour, marker = colours(distinct(frame, series)), markers(distinct(frame, series))
    figure, all_axes, columns = panels(len(parts), width, height)
    for axes, (title, rest) in zip(all_axes, parts, strict=True):
        for name, part in groups(rest, series):
            at = part[x].to_numpy()
            shape = marker[name] if len(part) <= 30 else None
            axes.plot(at, part[y].to_numpy(), markersize=4, color=colour[name], marker=shape, label=short(name))
            if band := ends(part, low, high):
                axes.fill_between(at, *band, color=colour[name], alpha=0.2, lw=0)
        if chosen is not None and len(marked := rest.filter(pl.col(chosen))):
            ring: dict[str, Any] = {"facecolors": "none", "edgecolors": PEOPLE, "linewidths": 1.8, "zorder": 4}
            axes.scatter(marked[x].to_numpy(), marked[y].to_numpy(), s=130, label="chosen", **ring)
        if reference is not None:
            axes.axhline(reference, **REFERENCE)
        axes.set_title(short(title), loc="left")
        axes.grid(axis="both")
    for axes in all_axes[-columns:]:
        axes.set_xlabel(short(x_label or x))
        if frame[x].dtype.is_integer():
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in all_axes[::columns]:
        axes.set_ylabel(short(label or y))
    if limits:
        all_axes[0].set_ylim(*limits)
    if len(parts) == 1 and series is not None and len(colour) > 1:
        figure.legend(loc="outside lower center", ncols=min(len(colour), 4))
    return figure


def bump(
    frame: pl.DataFrame,
    *,
    who: str,
    stage: str,
    rank: str = "rank",
    highlight: Sequence[Any] = (),
    label: str = "rank",
    width: float = PAGE,
) -> Drawing:
    """One line per name through its ranks, the first at the top; of more than eight, those to `highlight` stand out."""
    need(frame, who, stage, drawn=rank)
    known = frame.drop_nulls(rank).with_columns(pl.col(rank).cast(pl.Float64))
    stages, names = distinct(known, stage), distinct(known, who)
    marked = [one for one in highlight if one in names][: len(PALETTE)] or (names if len(names) <= len(PALETTE) else [])
    colour = colours(marked)
    figure, (axes,) = canvas(width, 0.7 + 0.2 * max(len(names), 4))
    outer: dict[tuple[int, str, float], list[str]] = {}
    for one in names:
        part = known.filter(pl.col(who) == one)
        x, y = [stages.index(at) for at in part[stage]], part[rank].to_list()
        how: dict[str, Any] = {"alpha": 0.6, "linewidth": 1, "zorder": 2}
        if one in colour:
            how = {"alpha": 1, "linewidth": 2, "zorder": 3}
        axes.plot(x, y, marker="o", color=colour.get(one, FAINT), **how)
        for at, side in ((0, "right"), (-1, "left")):
            outer.setdefault((x[at], side, y[at]), []).append(short(one, 28))
    for (place, side, height), tied in outer.items():
        beside = (-6 if side == "right" else 6, 0)
        note(axes, "\n".join(tied), (place, height), beside, ha=side, va="center", fontsize=7.5)
    axes.set_xticks(range(len(stages)), [short(at, 24) for at in stages])
    axes.set_xlim(-0.05, len(stages) - 0.95)
    axes.invert_yaxis()
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(short(label), loc="left")
    return figure
