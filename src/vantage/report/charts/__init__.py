"""Charts: one function per kind, from a frame and plain options to a Matplotlib figure in the style of all figures.

May import `report.style` and `report.cells`. A chart takes the names of columns and of labels as keywords, never
draws with pyplot, and takes every text from data through `style.short`. The next chart is a function in a module
here, listed in `CHARTS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from vantage.errors import InputError
from vantage.plugins import Plugins
from vantage.report.cells import counted, minus, show
from vantage.report.charts.frames import NothingToDraw, distinct
from vantage.report.style import COLUMN, FAINT, canvas, figure_style, short

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing


CHARTS: Final = {
    "map": ("maps:group_map", "Map"),
    "points": ("points:points", "Points"),
    "shares": ("shares:shares", "Stacked bars"),
    "distribution": ("shares:distribution", "Distributions"),
    "heat": ("heat:heat", "Heat map"),
    "bump": ("curves:bump", "Ranks"),
    "curve": ("curves:curve", "Curves"),
    "lattice": ("maps:lattice", "Lattice"),
    "wright": ("wright:wright", "Wright map"),
    "specifications": ("specifications:specifications", "Specification curve"),
    "spectrum": ("spectrum:spectrum", "Spectrum"),
}
"""Kinds of charts: where they are drawn, and what they are called."""
_VALUE: Final = ("value", "rank", "y")
"""Options that name the column of what is drawn, the first that a chart has."""
_NAMES: Final = ("category", "row", "column", "name", "stage", "sets", "part", "x", "series", "cluster", "panel")
"""Options that name the columns by which it is drawn."""
_FEW: Final = 6
"""Up to so many names are listed; more are counted."""


def chart(name: str) -> Callable[..., Drawing]:
    """The function that draws a kind of chart; its docstring says what columns and options it takes."""
    if name not in CHARTS:
        return PLUGINS.find(name)
    drawing: Callable[..., Drawing] = resolve_name(f"{__name__}.{CHARTS[name][0]}")
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


def in_words(kind: str, data: pl.DataFrame, options: Mapping[str, Any]) -> str:
    """What a chart draws.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"question": ["trust", "skill"], "estimate": [0.6, -0.2]})
    >>> in_words("points", frame, {"category": "question", "label": "alpha"})
    'Points: alpha by question (trust, skill). 2 points; the lowest is −0.200 and the highest is 0.600.'
    """
    defaults = {name: one.default for name, one in inspect.signature(chart(kind)).parameters.items()}
    given = {**defaults, **options}
    value = next(given[option] for option in _VALUE if given.get(option))
    by = [given[option] for option in _NAMES if given.get(option) in data.columns and given[option] != value]
    about = given.get("label") or given.get("y_label") or value
    text = f"{CHARTS[kind][1] if kind in CHARTS else kind}: {short(about)}{_listed(data, by)}."
    return minus(f"{text} {_ends(data, value)}")


def _listed(data: pl.DataFrame, by: list[str]) -> str:
    parts = []
    for column in by:
        names = distinct(data, column)
        few = len(names) <= _FEW and not data[column].dtype.is_float()
        parts.append(f"{short(column)} ({', '.join(map(short, names)) if few else len(names)})")
    return f" by {', '.join(parts)}" if parts else ""


def _ends(data: pl.DataFrame, value: str) -> str:
    known = data[value].drop_nulls() if value in data.columns else data.clear().to_series()
    if known.is_empty() or not known.dtype.is_numeric():
        return "There are no data."
    low, high = (show(float(end)) for end in (known.to_numpy().min(), known.to_numpy().max()))
    said = f"the lowest is {low} and the highest is {high}" if len(known) > 1 else f"it is {low}"
    return f"{counted(len(known), 'point')}; {said}."
