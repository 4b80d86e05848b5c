"""Charts: one function per kind, from a frame and plain options to a Matplotlib figure in the style of all figures.

May import `report.style` and `report.cells`. A chart takes the names of columns and of labels as keywords, never
draws with pyplot, and takes every text from data through `style.short`. The next chart is a function in a module
here, listed in `CHARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from vantage.errors import InputError
from vantage.plugins import Plugins
from vantage.report.charts.frames import NothingToDraw
from vantage.report.style import COLUMN, FAINT, PALETTE, assigned, canvas, figure_style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing

    from vantage.report.parts import Figure

CHARTS: Final = {
    "map": "maps:group_map",
    "points": "points:points",
    "bars": "bars:bars",
    "shares": "bars:shares",
    "distribution": "distributions:distribution",
    "heat": "heat:heat",
    "bump": "ranks:bump",
    "curve": "curves:curve",
    "lattice": "lattices:lattice",
    "forest": "forest:forest",
    "wright": "wright:wright",
}
"""Kinds of charts and where they are drawn."""
COLOURED: Final = {"map": "cluster", "points": "series", "bars": "series", "curve": "series", "shares": "part"}
"""The option of a chart that names the column of what has colours."""


def chart(name: str) -> Callable[..., Drawing]:
    """The function that draws a kind of chart; its docstring says what columns and options it takes."""
    if name not in CHARTS:
        return PLUGINS.find(name)
    drawing: Callable[..., Drawing] = resolve_name(f"{__name__}.{CHARTS[name]}")
    return drawing


def _accepted(name: str, function: Any) -> Callable[..., Drawing]:
    if not callable(function):
        raise TypeError("is not a function")
    drawing: Callable[..., Drawing] = function
    return drawing


PLUGINS: Final[Plugins[Callable[..., Drawing]]] = Plugins("charts", "chart", lambda: CHARTS, _accepted)
"""Charts of other packages: functions from a frame and options to a Matplotlib figure."""


def draw(name: str, data: pl.DataFrame, options: Mapping[str, Any]) -> Drawing:
    """A figure of a kind; a column or an option that the chart does not know is named.

    >>> import polars as pl
    >>> figure = draw("points", pl.DataFrame({"question": ["trust"], "estimate": [0.6]}), {"category": "question"})
    >>> type(figure).__name__
    'Figure'
    """
    function = chart(name)
    try:
        with figure_style():
            try:
                return function(data, **options)
            except NothingToDraw:
                return _empty()
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise InputError(f"chart '{name}': {error}", remedy=f"see {function.__module__}.{name}") from None


def _empty() -> Drawing:
    figure, (axes,) = canvas(COLUMN, 1.2)
    axes.set_axis_off()
    where: dict[str, Any] = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.5, "There are no data to draw.", color=FAINT, **where)
    return figure


def palette(figures: Iterable[Figure]) -> dict[str, str]:
    """The colours of a report: every series keeps its own through all figures, and people have theirs."""
    groups = []
    for figure in figures:
        column = figure.options.get(COLOURED.get(figure.chart, ""))
        if column in figure.data.columns and not figure.options.get("sequential"):
            names = figure.data[column].unique(maintain_order=True).to_list()
            groups += [names] if len(names) <= len(PALETTE) else []
    return assigned(groups)
