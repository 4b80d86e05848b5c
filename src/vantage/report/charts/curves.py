"""Lines: a number that depends on another, with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from vantage.report.charts.frames import REFERENCE, distinct, ends, facets, groups, need
from vantage.report.style import PAGE, PEOPLE, colours, markers, panels, short

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
