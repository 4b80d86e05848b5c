"""The universe of a conclusion: decisions with reasonable alternatives, and rules for what does not go together.

The first alternative of a decision is the one that was claimed. An alternative changes options of the measure or the
part of the corpus, so that `vantage measure` reproduces every specification.

>>> whose = {"people": Alternative(), "bot": Alternative(where={"rater": ["bot"]})}
>>> how = {"mean": Alternative(), "median": Alternative(options={"aggregate": "median"})}
>>> [one.choices for one in Universe(choices={"whose": whose, "aggregation": how}).specifications()[0]]
[('people', 'mean'), ('people', 'median'), ('bot', 'mean'), ('bot', 'median')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find, parse_words
from vantage.robust.conclusion import Conclusion, Where

MOST: Final = 1000
"""How many specifications are computed; of more a random sample is drawn, with all that change one choice."""
ENUMERATED: Final = 100_000
"""Of larger universes so many combinations are looked at, drawn at random."""
LEFT_OUT: Final = "left out"
AS_CLAIMED: Final = "as claimed"
SAME_COLUMN: Final = "two choices select judgments by the same column"
ONE_AT_A_TIME: Final = "one thing is left out at a time, and from the judgments that were claimed"


class Alternative(BaseModel):
    """One way to decide: options of the measure, and the judgments that are used."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    options: dict[str, Any] = {}
    where: Where = {}


class Exclusion(BaseModel):
    """A combination of alternatives that is not reasonable."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    when: Where
    because: str


Name: TypeAlias = Annotated[str, BeforeValidator(str)]
Alternatives: TypeAlias = dict[Name, Annotated[Alternative, BeforeValidator(lambda one: {} if one is None else one)]]
"""Something that could have been decided otherwise, by the names of its alternatives; the first is what was claimed."""


@dataclass(frozen=True)
class Specification:
    """One alternative of each decision, in the order of the decisions."""

    choices: tuple[str, ...]
    options: Mapping[str, Any]
    where: Where

    def changes(self, primary: Specification) -> int:
        """How many decisions are decided otherwise."""
        return sum(mine != theirs for mine, theirs in zip(self.choices, primary.choices, strict=True))


class Universe(BaseModel):
    """All decisions, and the combinations that are excluded."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    choices: dict[Name, Alternatives] = {}
    exclude: list[Exclusion] = []

    @field_validator("exclude")
    @classmethod
    def _known(cls, rules: list[Exclusion], info: ValidationInfo) -> list[Exclusion]:
        choices = info.data.get("choices", {})
        named = [(decision, name) for one in rules for decision, names in one.when.items() for name in names]
        for decision, name in named:
            if decision not in choices:
                raise InputError(f"there is no choice '{decision}' to exclude", remedy=nearest(decision, [*choices]))
            if name not in (known := [*choices[decision]]):
                raise InputError(f"choice '{decision}' has no alternative '{name}'", remedy=nearest(name, known))
        return rules

    @classmethod
    def read(cls, path: Path) -> Universe:
        """The universe that a YAML file declares."""
        document = Document.read(path)
        made = document.validate(cls)
        document.check()
        return made or cls()

    def varied(self, conclusion: Conclusion, corpus: Corpus, text: str) -> Universe:
        """The universe with one more decision, as `--vary` writes it: an option or a column, with values or without."""
        name, _, listed = text.partition("=")
        measure, values = find(conclusion.measure), [one.strip() for one in listed.split(",") if one.strip()]
        flag, option = name.strip().replace("_", "-"), name.strip().replace("-", "_")
        if option in measure.options:
            choices = values or [str(one) for one in measure.choices.get(option) or () if one is not None]
            if not choices:
                raise InputError(f"--vary {name} has no values", remedy=f"write --vary {name}=VALUE,VALUE")
            verb, types = f"vantage measure {measure.name}", {flag: measure.types[option]}
            typed = [parse_words([f"--{flag}={one}"], types, InputError, verb)[flag] for one in choices]
            made = {one: Alternative(options={option: value}) for one, value in zip(choices, typed, strict=True)}
            claimed = str(conclusion.options.get(option, measure.options[option].default))
        else:
            rest = {column: kept for column, kept in conclusion.where.items() if column != name}
            there = corpus.filter(**rest) if rest else corpus
            known = values or [one for one in there.values_of(name) if one and "," not in one]
            made = {one: Alternative(where={name: [one]}) for one in known}
            claimed = ",".join(conclusion.where.get(name, ()))
        first = claimed if claimed in made else AS_CLAIMED
        others = {one: how for one, how in made.items() if one != claimed}
        return Universe(choices={**self.choices, name: {first: Alternative(), **others}}, exclude=self.exclude)

    @property
    def size(self) -> int:
        """How many specifications there are before any is excluded."""
        return prod(map(len, self.choices.values()))

    def specifications(self, most: int = MOST, seed: int = 0) -> tuple[list[Specification], Counter[str]]:
        """The reasonable specifications, the claimed one first, and how many each rule excludes.

        Of more than `most` a random sample is drawn; it has the claimed one and all that change one choice.
        """
        names = [[*one] for one in self.choices.values()]
        sizes, rng = [len(one) for one in names], np.random.default_rng(seed)
        if self.size <= ENUMERATED:
            places = np.indices(sizes).reshape(len(sizes), self.size).T
            places = rng.permutation(places) if self.size > most else places
        else:
            places = rng.integers(0, sizes, (ENUMERATED, len(sizes)))
        near = [one * k for size, one in zip(sizes, np.eye(len(sizes), dtype=int), strict=True) for k in range(size)]
        kept: dict[tuple[int, ...], Specification] = {}
        excluded: Counter[str] = Counter()
        for place in dict.fromkeys(tuple(one.tolist()) for one in (*near, *places)):
            chosen = tuple(own[number] for own, number in zip(names, place, strict=True))
            if any(place) and (reason := self._unreasonable(chosen)) is not None:
                excluded[reason] += 1
            elif len(kept) < most:
                kept[place] = self._specification(chosen)
        return [kept[place] for place in sorted(kept)], excluded

    def _unreasonable(self, chosen: tuple[str, ...]) -> str | None:
        """Why alternatives do not go together, if so."""
        made = [own[one] for own, one in zip(self.choices.values(), chosen, strict=True)]
        named = Counter(column for one in made for column in one.where)
        if any(not c.endswith("!") and (count > 1 or f"{c}!" in named) for c, count in named.items()):
            return SAME_COLUMN
        by_name = dict(zip(self.choices, chosen, strict=True))
        moved = [name for name, first in self._selecting.items() if by_name[name] != first]
        if LEFT_OUT in moved and len(moved) > 1:
            return ONE_AT_A_TIME
        rules = (one for one in self.exclude if all(by_name.get(name) in names for name, names in one.when.items()))
        return next((one.because for one in rules), None)

    @cached_property
    def _selecting(self) -> dict[str, str]:
        """The decisions that choose among the judgments, and the first alternative of each."""
        return {name: next(iter(own)) for name, own in self.choices.items() if any(one.where for one in own.values())}

    def _specification(self, chosen: tuple[str, ...]) -> Specification:
        """The options and conditions of several alternatives together; what is left out adds up."""
        options: dict[str, Any] = {}
        where: dict[str, list[str]] = {}
        for one in (own[name] for own, name in zip(self.choices.values(), chosen, strict=True)):
            options |= one.options
            for column, values in one.where.items():
                before = where.get(column, []) if column.endswith("!") else []
                where[column] = [*dict.fromkeys([*before, *values])]
        return Specification(chosen, options, where)
