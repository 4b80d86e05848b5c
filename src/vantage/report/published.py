"""Published beside recomputed: what a paper prints, what its data give, and whether the two are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from vantage.errors import InputError
from vantage.report.cells import minus, show
from vantage.report.parts import Column, Table

Verdict = Literal["matched", "differs", "not recomputable"]

_NUMBER: Final = re.compile(r"([-−]?)(\d[\d,]*)?(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Published:
    """A figure as a paper prints it, and the one recomputed from its data.

    The verdict compares at the precision in print: `.60` is matched by 0.597, and `.6` by anything that rounds to it.

    >>> Published("alpha of trust", "Table 3", ".60", 0.597).verdict
    'matched'
    >>> Published("soft unanimity", "Section 4", "1,316", 1317).difference
    1.0

    Args:
        what: The quantity.
        where: Its place in the paper.
        published: The figure as printed, so that its digits count.
        recomputed: Ours; null where the data do not allow it.
        variant: How it was computed, or why it differs or cannot be computed.
        percent: Whether the printed figure is a percentage and ours a share.
        tolerance: How far the two may lie apart, instead of the rounding of the printed one.
    """

    what: str
    where: str
    published: str
    recomputed: float | None
    variant: str = ""
    percent: bool = False
    tolerance: float | None = None

    @property
    def value(self) -> float:
        """The printed figure as a number, on the scale of ours."""
        return self._number()[0] / (100 if self.percent else 1)

    @property
    def digits(self) -> int:
        """How many digits stand after the point in print."""
        return self._number()[1]

    @property
    def difference(self) -> float | None:
        """Ours minus the printed figure."""
        return None if self.recomputed is None else self.recomputed - self.value

    @property
    def verdict(self) -> Verdict:
        """Whether ours is the printed figure."""
        if self.difference is None:
            return "not recomputable"
        allowed = self.tolerance
        if allowed is None:
            # Half a unit of the last printed digit, and a hair for what floats cannot say.
            allowed = 0.5 * 10.0**-self.digits / (100 if self.percent else 1) * (1 + 1e-9)
        return "matched" if abs(self.difference) <= allowed else "differs"

    def _number(self) -> tuple[float, int]:
        found = _NUMBER.match(self.published.strip())
        if not found or not (found[2] or found[3]):
            problem = f"'{self.published}' is not a number as a paper prints it"
            raise InputError(problem, remedy="write it like .60 or 1,316")
        sign = -1.0 if found[1] else 1.0
        whole, decimals = (found[2] or "0").replace(",", ""), found[3] or ""
        return sign * float(f"{whole}.{decimals or 0}"), len(decimals)


def published_table(name: str, caption: str, rows: Sequence[Published], notes: Sequence[str] = ()) -> Table:
    """The table that sets published beside recomputed figures.

    >>> table = published_table("published", "As printed and as recomputed.",
    ...                         [Published("alpha of trust", "Table 3", ".60", 0.597, "ordinal")])
    >>> [cell.text for cell in next(table.rows())]
    ['alpha of trust', 'Table 3', '.60', '0.597', '−0.003', 'matched', 'ordinal']
    """
    frame = pl.DataFrame(
        {
            "what": [row.what for row in rows],
            "where": [row.where for row in rows],
            "published": [row.published for row in rows],
            "recomputed": [_shown(row, row.recomputed) for row in rows],
            "difference": [_shown(row, row.difference) for row in rows],
            "verdict": [row.verdict for row in rows],
            "variant": [row.variant for row in rows],
            "published_value": [row.value for row in rows],
            "recomputed_value": [row.recomputed for row in rows],
        },
        schema_overrides={"recomputed_value": pl.Float64, "published_value": pl.Float64},
    )
    shown = ["what", "where", "published", "recomputed", "difference", "verdict", "variant"]
    columns = {"what": Column("quantity"), "where": Column("in the paper"), "variant": Column("variant or reason")}
    return Table(name, caption, frame, columns, shown, ("what", "where"), notes, published=True)


def _shown(row: Published, value: float | None) -> str | None:
    """One digit more than in print, so that rounding can be followed; percentages as percentages."""
    if value is None:
        return None
    scaled = value * (100 if row.percent else 1)
    if row.digits == 0 and float(scaled).is_integer():
        return minus(show(int(scaled)))
    return minus(show(float(scaled), row.digits + 1)) + (" %" if row.percent else "")
