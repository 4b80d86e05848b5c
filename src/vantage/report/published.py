"""Published beside recomputed: what a paper prints, what its data give, and whether the two are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from vantage.documents import Document
from vantage.errors import InputError
from vantage.report.cells import counted, minus, show
from vantage.report.ledger import Claim
from vantage.report.parts import Column, Finding, Section, Table

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
        match = _NUMBER.match(self.published.strip())
        if not match or not (match[2] or match[3]):
            problem = f"'{self.published}' is not a number as a paper prints it"
            raise InputError(problem, remedy="write it like .60 or 1,316")
        sign = -1.0 if match[1] else 1.0
        whole, decimals = (match[2] or "0").replace(",", ""), match[3] or ""
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
            **{name: [getattr(row, name) for row in rows] for name in ("what", "where", "published")},
            **{name: [_shown(row, getattr(row, name)) for row in rows] for name in ("recomputed", "difference")},
            **{name: [getattr(row, name) for row in rows] for name in ("verdict", "variant")},
            "published_value": [row.value for row in rows],
            "recomputed_value": [row.recomputed for row in rows],
        },
        schema_overrides={"recomputed_value": pl.Float64, "published_value": pl.Float64},
    )
    shown = ["what", "where", "published", "recomputed", "difference", "verdict", "variant"]
    columns = {"what": Column("quantity"), "where": Column("in the paper"), "variant": Column("variant or reason")}
    return Table(name, caption, frame, columns, shown, ("what", "where"), notes, published=True)


class PrintedGroup(BaseModel):
    """Printed figures that one column of one table recomputes."""

    model_config = ConfigDict(extra="forbid", strict=True)
    what: str
    where: str
    table: str = ""
    column: str = "estimate"
    keys: list[str] = Field(default_factory=list)
    variant: str = ""
    percent: bool = False
    tolerance: float | None = None
    optional: bool = False
    figures: list[list[str | int | float | None]]

    def rows(self, frames: Mapping[str, pl.DataFrame]) -> Iterator[Published]:
        """Each printed figure beside the recomputed one."""
        frame = frames.get(self.table)
        for figure in self.figures:
            at = dict(zip(self.keys, figure, strict=False))
            printed, *variant = figure[len(self.keys) :]
            how = str(variant[0]) if variant else self.variant
            ours = None
            if frame is not None and {self.column, *self.keys} <= set(frame.columns):
                wanted = (
                    pl.col(name).cast(pl.String).eq_missing(pl.lit(None if value is None else str(value), pl.String))
                    for name, value in at.items()
                )
                ours = next(iter(frame.filter(*wanted)[self.column]), None)
            if ours is not None or not self.optional:
                what = self.what.format_map(at)
                yield Published(what, self.where, str(printed), ours, how, self.percent, self.tolerance)


class PublishedFigures(BaseModel):
    """What a paper prints: `published.yaml` of a study.

    >>> printed = PublishedFigures.parse('''
    ... paper: Example (2026)
    ... published:
    ...   - {what: "alpha of {question}", where: Table 3, table: alpha, keys: [question], figures: [[trust, ".60"]]}
    ... ''')
    >>> frame = pl.DataFrame({"question": ["trust"], "estimate": [0.597]})
    >>> [row.verdict for row in printed.rows({"alpha": frame})]
    ['matched']
    """

    model_config = ConfigDict(extra="forbid")
    paper: str
    corpus: str = ""
    published: list[PrintedGroup]

    @classmethod
    def parse(cls, text: str, file: str = "published.yaml") -> PublishedFigures:
        """Reads published figures; problems are reported with their lines."""
        return cls.of(Document.parse(text, file))

    @classmethod
    def bundled(cls, package: str) -> PublishedFigures:
        """The published figures that ship with a study."""
        return cls.of(Document.bundled(package, "published.yaml"))

    @classmethod
    def of(cls, document: Document) -> PublishedFigures:
        """A document as published figures."""
        figures = document.validate(cls)
        for place, group in enumerate(figures.published if figures else ()):
            for number, figure in enumerate(group.figures):
                printed = figure[len(group.keys)] if len(figure) > len(group.keys) else None
                if not isinstance(printed, str):
                    loc = ("published", place, "figures", number)
                    document.problem(loc, "the printed figure must be in quotes, so that its digits count")
        document.check()
        assert figures is not None  # noqa: S101 - whatever keeps a document from being one was a problem
        return figures

    def rows(self, frames: Mapping[str, pl.DataFrame]) -> list[Published]:
        """Every printed figure beside the recomputed one."""
        return [row for group in self.published for row in group.rows(frames)]


def published_section(printed: PublishedFigures, frames: Mapping[str, pl.DataFrame]) -> Section | None:
    """The section that sets published beside recomputed figures, with how many are met; null where there are none."""
    rows = printed.rows(frames)
    if not rows:
        return None
    verdicts = [row.verdict for row in rows]
    numbers = {name: verdicts.count(name) for name in ("matched", "differs", "not recomputable")}
    sentence = (
        f"Of {counted(len(rows), 'figure')} printed in {printed.paper}, {numbers['matched']:,} "
        f"{'is' if numbers['matched'] == 1 else 'are'} matched at the precision in print, {numbers['differs']:,} "
        f"{'differs' if numbers['differs'] == 1 else 'differ'} and {numbers['not recomputable']:,} cannot be "
        "recomputed from these data."
    )
    finding = Finding(sentence, (Claim("fact", numbers=numbers),))
    caption = "Printed figures beside recomputed ones; matched means equal at the precision in print."
    return Section("Published beside recomputed", [], [published_table("published", caption, rows)], [finding])


def _shown(row: Published, value: float | None) -> str | None:
    """One digit more than in print, so that rounding can be followed; percentages as percentages."""
    if value is None:
        return None
    scaled = value * (100 if row.percent else 1)
    if row.digits == 0 and float(scaled).is_integer():
        return minus(show(int(scaled)))
    return minus(show(float(scaled), row.digits + 1)) + (" %" if row.percent else "")
