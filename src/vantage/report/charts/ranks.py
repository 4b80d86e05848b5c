"""A bump chart: how ranks shift from one stage to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from vantage.report.charts.frames import distinct, need
from vantage.report.style import FAINT, PAGE, PALETTE, canvas, colours, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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
    """One line per name through its ranks; the first is at the top.

    Args:
        frame: One row per name and stage.
        who: The column of what is ranked.
        stage: The column of the stages, from left to right in the order of the data.
        rank: The column of the ranks.
        highlight: Names that stand out, eight at most; all of them where there are few, none otherwise.
        label: What the ranks are of.
        width: The width in inches.
    """
    need(frame, who, stage, drawn=rank)
    known = frame.drop_nulls(rank).with_columns(pl.col(rank).cast(pl.Float64))
    stages, names = distinct(known, stage), distinct(known, who)
    marked = [one for one in highlight if one in names][: len(PALETTE)] or (names if len(names) <= len(PALETTE) else [])
    colour = colours(marked)
    figure, (axes,) = canvas(width, 0.7 + 0.2 * max(len(names), 4))
    ends: dict[tuple[int, str, float], list[str]] = {}
    for one in names:
        part = known.filter(pl.col(who) == one)
        x = [stages.index(at) for at in part[stage]]
        y = part[rank].to_list()
        stands_out = one in colour
        axes.plot(
            x,
            y,
            marker="o",
            color=colour.get(one, FAINT),
            alpha=1 if stands_out else 0.6,
            linewidth=2 if stands_out else 1,
            zorder=3 if stands_out else 2,
        )
        for place, side in ((x[0], "right"), (x[-1], "left")):
            ends.setdefault((place, side, y[x.index(place)]), []).append(short(one, 28))
    for (place, side, at), tied in ends.items():
        axes.annotate(
            "\n".join(tied),
            (place, at),
            xytext=(-6 if side == "right" else 6, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=7.5,
        )
    axes.set_xticks(range(len(stages)), [short(at, 24) for at in stages])
    axes.set_xlim(-0.05, len(stages) - 0.95)
    axes.invert_yaxis()
    axes.set_yticks([])
    for side_ in ("left", "bottom"):
        axes.spines[side_].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(short(label), loc="left")
    return figure
