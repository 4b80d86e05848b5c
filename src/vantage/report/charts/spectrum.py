"""The Spectrum: shares of answers, text by text, from one end of the scale to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.report.charts.frames import distinct, need
from vantage.report.style import FAINT, INK, PAGE, scale_colours, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


WIDEST: Final = 9
"""So many characters of labels fit on an inch of a legend of one line."""


def spectrum(
    frame: pl.DataFrame,
    *,
    value: str = "share",
    part: str = "answer",
    series: str = "who",
    column: str = "column",
    disagreement: str = "disagreement",
    order: Sequence[str] = (),
    colours: Sequence[str] = (),
    pins: Sequence[tuple[float, str]] = (),
    width: float = PAGE,
    height: float = 0.0,
    title: str = "",
) -> Drawing:
    """Every text as a column of shares, a strip of disagreement below, and strips of other raters in the same order."""
    from matplotlib.figure import Figure as Drawing

    need(frame, part, series, column, disagreement, drawn=value)
    frame = frame.rename({column: "column", disagreement: "disagreement"}).with_columns(pl.col(value).fill_null(0.0))
    names, answers = distinct(frame, series), distinct(frame, part)
    kinds = [kind for kind in order if kind in answers] or answers
    colour = dict(zip(order, colours, strict=True)) if colours else scale_colours(kinds, ordered=False)
    heights = [2.0, 0.42, *[0.42] * (len(names) - 1)]
    listed = 0.2 * len(pins)
    figure = Drawing(figsize=(width, height or sum(heights) + 0.9 + listed), layout="constrained")
    all_axes = list(np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)))
    last = len(frame["column"].unique())
    people = frame.filter(pl.col(series) == names[0])
    _stacked(all_axes[0], people, kinds, colour, value, part)
    all_axes[0].set_ylabel(short(names[0]))
    all_axes[0].set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    strip = people.unique("column").sort("column")
    heights_of = strip["disagreement"].fill_null(0.0).to_numpy()
    _steps_of(all_axes[1], strip["column"].to_numpy(), np.zeros(len(strip)), heights_of, FAINT)
    all_axes[1].set_ylim(0, max(0.5, float(heights_of.max(initial=0.0))))
    all_axes[1].set_yticks([])
    all_axes[1].set_ylabel("disagreement", rotation=0, ha="right", va="center")
    for axes, name in zip(all_axes[2:], names[1:], strict=True):
        _stacked(axes, frame.filter(pl.col(series) == name), kinds, colour, value, part)
        axes.set_yticks([])
        axes.set_ylabel(short(name, 18), rotation=0, ha="right", va="center")
    for axes in all_axes:
        axes.set_xlim(-0.5, last - 0.5)
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
    for number, (place, _) in enumerate(pins, 1):
        where = place * last - 0.5
        all_axes[0].annotate(str(number), (where, 1.0), (0, 3), textcoords="offset points", ha="center", fontsize=8)
        all_axes[0].axvline(where, color=INK, linewidth=0.6, alpha=0.6)
    if pins:
        words = "\n".join(f"{number}  {short(text, round(13 * width))}" for number, (_, text) in enumerate(pins, 1))
        all_axes[-1].set_xlabel(words, loc="left", fontsize=8)
    handles, labels = all_axes[0].get_legend_handles_labels()
    beside = 7 if sum(map(len, labels)) < WIDEST * width else max(1, round(4 * width / PAGE))
    above: dict[str, Any] = {"title": title, "title_fontproperties": {"size": 13, "weight": "bold"}} if title else {}
    corner: dict[str, Any] = {"loc": "outside upper left", "alignment": "left"}
    figure.legend(handles, labels, ncols=beside, handlelength=1, columnspacing=1.2, **corner, **above)
    return figure


def _stacked(
    axes: Axes, part_of: pl.DataFrame, kinds: Sequence[Any], colour: dict[Any, str], value: str, part: str
) -> None:
    """Shares stacked from below, the first answer at the bottom, as steps without gaps."""
    wide = part_of.pivot(on=part, index="column", values=value, aggregate_function="sum").sort("column")
    below = np.zeros(len(wide))
    for kind in kinds:
        amounts = wide[kind].fill_null(0.0).to_numpy() if kind in wide.columns else np.zeros(len(wide))
        _steps_of(axes, wide["column"].to_numpy(), below, below + amounts, colour[kind], short(kind, 24))
        below = below + amounts
    axes.set_ylim(0, 1)


def _steps_of(axes: Axes, at: Any, low: Any, high: Any, ink: str, label: str = "") -> None:
    """A filled area of steps, broken where columns are missing."""
    edges = np.column_stack([at - 0.5, at + 0.5]).ravel()
    axes.fill_between(edges, np.repeat(low, 2), np.repeat(high, 2), color=ink, linewidth=0, label=label or None)
