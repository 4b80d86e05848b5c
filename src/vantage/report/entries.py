"""What the section of a recipe can hold: entries with their measure or function, their view, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vantage.errors import InputError
from vantage.measures import Against, Column, Extremes, Fact
from vantage.measures.presentation import Rule
from vantage.report.sentences import Statement

STRICT: Final = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class Says(BaseModel):
    """A rule of a sentence under its name; its family, and whether it opens the report, where its entry has others."""

    model_config = STRICT
    headline: bool | int | None = None
    family: str = ""
    against: Against | None = None
    extremes: Extremes | None = None
    fact: str | Fact | None = None

    @property
    def rule(self) -> Rule:
        """The rule that was given."""
        fact = Fact(self.fact) if isinstance(self.fact, str) else self.fact
        rule = self.against or self.extremes or fact
        if rule is None:
            raise InputError("a sentence has no rule", remedy="use against, extremes or fact")
        return rule


class Show(BaseModel):
    """An entry of a section."""

    model_config = STRICT
    measure: str = ""
    side_by_side: dict[str, dict[str, Any]] = Field(default_factory=dict)
    function: str = ""
    name: str = ""
    of: str = ""
    by: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    title: str = ""
    symbol: str = ""
    caption: str = ""
    columns: dict[str, Column | str] = Field(default_factory=dict)
    show: list[str] = Field(default_factory=list)
    keys: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    figure: list[dict[str, Any]] | None = None
    table: bool = True
    say: list[Says] | None = None
    headline: bool | int = False
    family: str = ""

    @field_validator("by", "keys", "show", "notes", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("figure", mode="before")
    @classmethod
    def _figures(cls, value: Any) -> Any:
        several = value if isinstance(value, list) else [] if value is False else [value]
        return [{"chart": one} if isinstance(one, str) else one for one in several]

    @property
    def called(self) -> str:
        """The name of its files."""
        return self.name or (self.measure or self.function or "side-by-side").replace("_", "-")

    @property
    def shown(self) -> dict[str, Column]:
        """How its columns are shown."""
        return {name: Column(how) if isinstance(how, str) else how for name, how in self.columns.items()}

    def ranked(self, statements: Sequence[Statement]) -> list[tuple[Statement, int]]:
        """Statements with their places among the sentences that open the report, 0 for none."""
        own = [one.headline for one in self.say or ()] or [None] * len(statements)
        return [
            (statement, int(self.headline if headline is None else headline))
            for statement, headline in zip(statements, own, strict=False)
        ]

    def asked(
        self, families: Mapping[str, str], section: str, rules: int, after: Mapping[str, str]
    ) -> list[tuple[str, bool, str]]:
        """For each rule its research question, whether it is exploratory, and the question that comes before it.

        Where a recipe declares no families, each section is a research question.
        """
        own = [one.family for one in self.say or ()] or [""] * rules
        if not families:
            return [(section, False, "")] * rules
        named = [one or self.family for one in own]
        first = {name: families[before] for name, before in after.items()}
        return [
            (families[one], False, first.get(one, "")) if one else (f"{section}: {self.called}", True, "")
            for one in named
        ]

    @property
    def rules(self) -> list[Rule] | None:
        """The rules of its sentences; null for those of the measure."""
        return None if self.say is None else [one.rule for one in self.say]


class SectionSpec(BaseModel):
    """A section of a recipe."""

    model_config = STRICT
    title: str
    text: list[str] = Field(default_factory=list)
    each: str = ""
    show: list[Show] = Field(default_factory=list)

    @field_validator("text", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value
