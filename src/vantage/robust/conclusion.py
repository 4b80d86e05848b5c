"""What is claimed: a measure with its options, the row it is about, and the value with which it is compared.

Whether a specification says the same is decided by the rules of the ledger (`vantage.report`), for one row by itself.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.measures import Against, Fact, find
from vantage.report import Claim, Report, settled

Where: TypeAlias = dict[
    str, Annotated[list[str], BeforeValidator(lambda v: [str(one) for one in (v if isinstance(v, list) else [v])])]
]
"""Columns with the values to keep, as `Corpus.filter` takes them; a name that ends in `!` has those to leave out."""
LOCATES: Final = ("target", "trait", "group", "row", "option", "first", "second", "term", "metric", "average", "rater",
                  "model")  # fmt: skip
"""Columns of results that tell rows of one group apart."""
HALF: Final = 0.5
"""The winning rate from which a model can stand in for a person (Calderon et al. 2025)."""
SAME: Final = 1e-6
"""Estimates that differ by less are the same."""


class Conclusion(BaseModel):
    """A claim about one row of a measure: its options, the part of the corpus, the row, and what it is compared with.

    `row` has columns of the result with the values of the row, where there are several; `said` is the estimate that a
    report gave, where the claim comes from one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    measure: str
    options: dict[str, Any] = {}
    where: Where = {}
    row: dict[str, Any] = {}
    reference: float
    said: float | None = Field(default=None, exclude=True)

    @classmethod
    def of(
        cls,
        measure: str,
        options: Mapping[str, Any] | None = None,
        where: Where | None = None,
        row: Mapping[str, Any] | None = None,
        reference: float | None = None,
    ) -> Conclusion:
        """A claim whose reference is that of the measure's own first comparison, where it has one.

        >>> Conclusion.of("alpha").reference, Conclusion.of("compare", {"between": "condition"}).value
        (0.0, 'difference')
        """
        known, given = find(measure).options, dict(options or {})
        for option in (one for one in given if one not in known):
            raise InputError(f"measure '{measure}' has no option '{option}'", remedy=nearest(option, list(known)))
        if reference is None:
            rule, decided = _compares(measure)
            usual = None if rule is None or isinstance(rule.reference, str) else rule.reference
            reference = 0.0 if usual is None and given.get("between") is not None else HALF if decided else usual
        if reference is None:
            remedy = "pass one, such as --reference 0.5"
            raise InputError(f"measure '{measure}' has no value to compare with", remedy=remedy)
        return cls(measure=measure, options=given, where=where or {}, row=dict(row or {}), reference=reference)

    @classmethod
    def of_ledger(
        cls, report: Report, number: int, corpus: Corpus | None = None, file: Path | None = None
    ) -> Conclusion:
        """The claim in a row of the ledger of a report on a corpus, counted from 1 as in `ledger.csv`."""
        ledger = report.result.ledger
        if not 1 <= number <= len(ledger):
            raise InputError(f"the ledger has {len(ledger)} rows, not {number}", file=file, remedy="see ledger.csv")
        claim = ledger[number - 1]
        table = next((one.frame for one in report.result.tables if one.name == claim.table), pl.DataFrame())
        row = table.row(claim.row, named=True) if claim.row is not None and claim.row < len(table) else {}
        if claim.reference is None or not {"measure", "options"} <= row.keys():
            what = f"row {number} of the ledger ({claim.name or claim.table or 'it'})"
            remedy = "name the measure with its options instead"
            raise InputError(f"{what} is not a comparison made by a measure", file=file, remedy=remedy)
        options = {name: value for name, value in json.loads(row["options"]).items() if value is not None}
        by = options.get("by") or []
        by = [by] if isinstance(by, str) else by
        where = {column: [str(row[column])] for column in by if row[column] is not None}
        located = {column: row[column] for column in LOCATES if row.get(column) is not None and column not in by}
        known = {name: value for name, value in options.items() if name in find(row["measure"]).options}
        made = cls.of(row["measure"], known, where, located, claim.reference)
        made = made.model_copy(update={"said": claim.estimate})
        if "kinds" in known:
            # Of a part that the report selected, such as people, all kinds of raters are not all of the corpus.
            usual = made.model_copy(update={"options": {name: one for name, one in known.items() if name != "kinds"}})
            try:
                again = None if corpus is None else made.claim(made.part(corpus))[0].estimate
            except InputError:
                again = None
            made = made if again is not None and abs(again - (claim.estimate or 0.0)) <= SAME else usual
        return made

    @property
    def value(self) -> str:
        """The column of the estimate."""
        return "estimate" if (rule := _compares(self.measure)[0]) is None else rule.value

    def claim(self, part: Corpus, **options: Any) -> tuple[Claim, dict[str, Any]]:
        """What the ledger, or the measure where it decides itself, says of these judgments, and the row it is about."""
        frame, (rule, decided) = self.result(part, **options), _compares(self.measure)
        if len(frame) != 1:
            several = [name for name in ("question", "trait", "group", "first", "second") if name in frame.columns]
            remedy = f"choose one with --where or --row, such as {', '.join(several) or 'question'}"
            raise InputError(f"the claim is about {len(frame)} rows, not one", remedy=remedy)
        row = frame.row(0, named=True)
        if row[self.value] is None:
            raise InputError(f"there is no estimate: {row['reason'] or 'no judgments'}", remedy="claim something else")
        if decided:
            verdict = {True: "holds", False: "fails", None: "untested"}[row[decided]]
            return Claim(f"against:{verdict}", row[self.value], reference=self.reference), row
        compared = Against(self.reference, above="", value=self.value, p="" if rule is None else rule.p)
        return settled(compared, frame)[0], row

    def result(self, part: Corpus, **options: Any) -> pl.DataFrame:
        """What the measure says of these judgments, with its options and further ones: the rows of the claim."""
        frame = find(self.measure).function(part, **{**self.options, **options})
        for column, value in self.row.items():
            if column not in frame.columns:
                raise InputError(f"the result has no column '{column}'", remedy=nearest(column, frame.columns))
            frame = frame.filter(pl.col(column).cast(pl.String) == str(value))
        return frame

    def part(self, corpus: Corpus) -> Corpus:
        """The judgments that it is about."""
        return corpus.filter(**self.where) if self.where else corpus

    def judgments(self, part: Corpus, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The judgments that the measure uses, with columns of items and raters."""
        return cast(Corpus, find(self.measure).whose(part, self.options).data).with_columns_of(columns)

    def written(self, options: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The options, and others that take their place, as a command has them; what is not set is left out."""
        known, given = find(self.measure).options, {**self.options, **(options or {})}
        unset = [name for name, value in given.items() if value is None or value == []]
        unset += [name for name, value in given.items() if value is False and known[name].default is False]
        return {name.replace("_", "-"): _word(value) for name, value in given.items() if name not in unset}

    def command(self, folder: str, options: Mapping[str, Any] | None = None, where: Where | None = None) -> str:
        """The command that gives the row: of the claim, or with other options and another part of the corpus."""
        words = ["vantage", "measure", self.measure, folder]
        for name, value in self.written(options).items():
            words += [f"--{name}", value]
        for column, values in {**self.where, **(where or {})}.items():
            words += ["--where", f"{column}={','.join(values)}"]
        return shlex.join(words)

    def sentence(self) -> str:
        """The claim in words, before anything is computed."""
        about = {**self.written(), **self.where, **self.row}
        named = "; ".join(f"{name} {_word(value)}" for name, value in about.items())
        return f"{self.measure}{f' ({named})' if named else ''} against {self.reference:g}"


def _compares(measure: str) -> tuple[Against | None, str]:
    """What a measure compares first; or the column of yes or no with which it answers itself where it compares nothing.

    Such a column says, for instance, whether a model can stand in for people.
    """
    says = find(measure).view.says
    rule = next((one for one in says if isinstance(one, Against)), None)
    decided = [one.where for one in says if isinstance(one, Fact) and one.where]
    return rule, decided[0] if decided and rule is None else ""


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
