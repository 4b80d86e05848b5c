"""The specification curve: estimates in their order above, the choices that they rest on below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.report.charts.frames import REFERENCE, distinct, need
from vantage.report.style import FAINT, INK, PAGE, PALETTE, canvas, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Drawing

ROW: Final = 0.15
"""The height of an alternative in inches."""
HEAD: Final = 2.2
"""The height of the curve."""
VERDICTS: Final = {"above": PALETTE[0], "below": PALETTE[1], "holds": PALETTE[0], "fails": PALETTE[1]}
"""The colours of estimates that differ from the reference; the others are faint."""


def specifications(
    frame: pl.DataFrame,
    *,
    decisions: Sequence[str],
    value: str = "estimate",
    verdict: str = "verdict",
    label: str = "",
    reference: float | None = None,
) -> Drawing:
    """Estimates with their intervals, sorted, and below each the alternatives that were chosen."""
    need(frame, "low", "high", verdict, *decisions, drawn=value)
    ordered = frame.with_row_index("__first").drop_nulls(value).sort(value, maintain_order=True)
    rows = [(name, one) for name in decisions for one in distinct(frame, name)]
    figure, (curve, choices) = canvas(
        PAGE, HEAD + ROW * len(rows) + 0.3, 2, 1, height_ratios=[HEAD, ROW * len(rows) + 0.2], sharex=True
    )
    x = np.arange(len(ordered))
    tints = [VERDICTS.get(str(one), FAINT) for one in ordered[verdict]]
    ends = ordered.select(pl.col("low", "high").cast(pl.Float64)).fill_null(np.nan)
    thin = max(0.3, min(1.4, 200 / len(ordered)))
    curve.vlines(x, ends["low"], ends["high"], color=tints, linewidth=thin, alpha=0.45)
    curve.scatter(x, ordered[value], s=max(2.0, min(16.0, 1500 / len(ordered))), c=tints, linewidths=0, zorder=3)
    claimed = int((ordered["__first"] == 0).arg_max() or 0)
    curve.scatter(
        [claimed], [ordered[value][claimed]], s=60, facecolors="none", edgecolors=INK, linewidths=1.2, zorder=4
    )
    if reference is not None:
        curve.axhline(reference, **REFERENCE)
    curve.set_ylabel(short(label or value))
    curve.tick_params(axis="x", length=0, labelbottom=False)
    mark: dict[str, Any] = {"marker": "|", "s": 16, "linewidths": max(0.4, thin)}
    for place, (name, one) in enumerate(rows):
        there = np.flatnonzero((ordered[name] == one).to_numpy())
        choices.scatter(there, np.full(len(there), place), c=[tints[n] for n in there], **mark)
    for start in [place for place, (name, _) in enumerate(rows) if place and rows[place - 1][0] != name]:
        choices.axhline(start - 0.5, color=FAINT, linewidth=0.4)
    choices.set_yticks(range(len(rows)), [short(f"{name}: {one}", 34) for name, one in rows], fontsize=6)
    choices.set_ylim(len(rows) - 0.4, -0.6)
    choices.tick_params(axis="y", length=0)
    choices.set_xticks([])
    choices.set_xlabel(f"{len(ordered)} specifications, sorted; the ring is the claim")
    return figure
