"""How a result is shown and what may be said of it: declared once, beside the definition of the measure.

A `View` names a result, its columns, the chart that suits it, its sources, and the rules by which sentences follow from
its numbers. There are three rules. `Against` compares every row with a reference such as chance, `Extremes` names the
highest and the lowest row where the data support that ranking, and `Fact` states a number. A rule holds phrases for
every outcome and claims nothing by itself: `vantage.report.sentences` decides which phrase the numbers allow.

In a phrase, `{rows}` is the list of rows it speaks of, each with its result; a part in square brackets is left out when
rows have no names; any other name in braces is a column of the row.

>>> rule = Against(0.0, above="Raters agree better than chance[ about {rows}]")
>>> rule.value, rule.low, rule.high
('estimate', 'low', 'high')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

_STRICT: Final = {"extra": "forbid"}
"""Documents that declare one of these refuse keys that it does not have."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a table is shown.

    Args:
        title: The heading; the column's name without one.
        digits: Digits after the point.
        percent: Whether shares are shown as percentages.
        signed: Whether positive numbers get a plus sign, as differences should.
        interval: The two columns that are folded into this one: `0.51 [0.45, 0.57]`.
        spread: The column that is folded into this one as its standard deviation: `0.51 ± 0.02`.
        best: Whether the highest or the lowest value is set in bold.
        chance: Whether it holds p values, of which small ones are shown as `< .001`; columns called `p` or `p_…` do.
    """

    title: str = ""
    digits: int | None = None
    percent: bool = False
    signed: bool = False
    interval: tuple[str, str] | None = None
    spread: str | None = None
    best: Literal["max", "min"] | None = None
    chance: bool = False
    __pydantic_config__ = _STRICT

    @property
    def folds(self) -> tuple[str, ...]:
        """The columns that are shown within this one."""
        return (*(self.interval or ()), *((self.spread,) if self.spread else ()))


@dataclass(frozen=True, slots=True)
class Against:
    """Every row against a reference: above it, below it, or not told apart from it.

    Args:
        reference: The value to compare with, or the column that holds it.
        above: The phrase for rows above the reference.
        below: The phrase for rows below it; nothing is said of them without one.
        within: The phrase for rows that cannot be told apart from it.
        value: The column of the estimates.
        low: The lower end of the interval.
        high: The upper end of the interval.
        p: The column of p values; without one they follow from the interval.
        label: The name of a row, such as `{first} and {second}`; the grouping columns without it.
        result: The text in brackets after a name; the estimate with its interval without it. Rows that have not all
            columns it names, as those of another table of the measure, are not compared.
    """

    reference: float | str
    above: str
    below: str = ""
    within: str = ""
    value: str = "estimate"
    low: str = "low"
    high: str = "high"
    p: str = ""
    label: str = ""
    result: str = ""
    __pydantic_config__ = _STRICT


@dataclass(frozen=True, slots=True)
class Extremes:
    """The highest and the lowest row, each named only where it can be told apart from all others.

    Args:
        most: The phrase for the highest row.
        least: The phrase for the lowest row, of three rows or more.
        alike: The phrase for rows of which neither end can be told apart from the row next to it, though the two ends
            may be; `{range}` is their range.
        value: The column of the estimates.
        low: The lower end of the interval.
        high: The upper end of the interval.
        among: Columns whose values are looked at one by one, such as the question when raters are ranked for each.
        label: The name of a row; the grouping columns without it.
        result: The text in brackets after a name.
    """

    most: str
    least: str = ""
    alike: str = ""
    value: str = "estimate"
    low: str = "low"
    high: str = "high"
    among: tuple[str, ...] = ()
    label: str = ""
    result: str = ""
    __pydantic_config__ = _STRICT


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence that states numbers of a row and compares nothing; left out where one of them is missing.

    Args:
        text: The sentence, with the columns it states in braces.
        each: Whether every row gets a sentence; otherwise the first.
        row: How each row is stated where the sentence lists them as `{rows}`; a part in square brackets names the
            `{group}` of the row and is left out where nothing tells groups apart.
        where: The column that must be true of a row.
        none: The sentence where it is true of none.
    """

    text: str
    each: bool = False
    row: str = ""
    where: str = ""
    none: str = ""
    __pydantic_config__ = _STRICT


Rule: TypeAlias = Against | Extremes | Fact


@dataclass(frozen=True, slots=True)
class View:
    """How a result is shown.

    Args:
        title: The name of what was measured: the beginning of the caption.
        symbol: Its symbol in sentences, such as `α`.
        columns: How columns are shown.
        show: The columns people see after the grouping columns; all that say something without it.
        chart: The chart that suits it, by its name in `vantage.report.charts`; none without it.
        chart_options: Options of that chart, besides the grouping columns.
        notes: What a reader must know besides.
        says: The rules of its sentences.
        method: The sentence of a Methods section; options in braces are those that were used.
        sources: Keys in `references.bib` of the works that define it.
    """

    title: str
    symbol: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    show: Sequence[str] = ()
    chart: str = ""
    chart_options: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    says: Sequence[Rule] = ()
    method: str = ""
    sources: Sequence[str] = ()


AGREEMENT: Final = (
    Against(
        0.0,
        above="Raters agree better than chance[ about {rows}]",
        below="Raters agree less than chance[ about {rows}]",
        within="Agreement[ about {rows}] cannot be told apart from chance",
    ),
    Extremes(
        most="Raters agree most about {rows}",
        least="Raters agree least about {rows}",
        alike="It is not clear what raters agree most or least about ({range})",
    ),
)
"""What coefficients of agreement beyond chance have to say."""


def agreement_view(title: str, symbol: str, method: str, source: str, *, column: str = "") -> View:
    """How every coefficient of agreement beyond chance is shown: 1 is perfect agreement, 0 is chance."""
    return View(
        title,
        symbol=symbol,
        columns={"estimate": Column(column or symbol, digits=2)},
        chart="points",
        chart_options={"reference": 0, "reference_label": "chance"},
        notes=("1 is perfect agreement, 0 is what chance gives.",),
        says=AGREEMENT,
        method=method,
        sources=(source,),
    )


BOUNDS: Final = {
    **dict.fromkeys(("α", "κ", "r", "ρ", "rho", "τ", "Spearman's ρ", "adjusted Rand index"), (-1.0, 1.0)),
    **dict.fromkeys(("AUC", "F1", "score"), (0.0, 1.0)),
}
"""Between which numbers a coefficient lies, by its symbol: no interval is drawn beyond."""
PLAIN: Final = View("")
"""What a measure without a presentation of its own is shown with: a plain table."""
