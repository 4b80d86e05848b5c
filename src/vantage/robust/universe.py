"""The universe of a conclusion: decisions with reasonable alternatives, and rules for what does not go together.

The first alternative of a decision is the one that was claimed. An alternative changes options of the measure or the
part of the corpus, so that `vantage measure` reproduces every specification.

>>> whose = Decision("whose", (Alternative("people"), Alternative("bot", where={"rater": ["bot"]})))
>>> how = Decision("aggregation", (Alternative("mean"), Alternative("median", {"aggregate": "median"})))
>>> [one.choices for one in Universe((whose, how)).specifications()[0]]
[('people', 'mean'), ('people', 'median'), ('bot', 'mean'), ('bot', 'median')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.measures import find
from vantage.robust.conclusion import Conclusion, Where

MOST: Final = 1000
"""How many specifications are computed; of more a random sample is drawn, with all that change one choice."""
ENUMERATED: Final = 100_000
"""Larger universes are sampled without going through all of them."""
DRAWN: Final = 10
"""How many times as many combinations are then drawn, since many may be excluded."""
LEFT_OUT: Final = "left out"
AS_CLAIMED: Final = "as claimed"
SAME_COLUMN: Final = "two choices select judgments by the same column"
ONE_AT_A_TIME: Final = "one thing is left out at a time, and from the judgments that were claimed"


@dataclass(frozen=True)
class Alternative:
    """One way to decide: options of the measure, and the judgments that are used."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    where: Where = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Something that could have been decided otherwise; the first alternative is what was claimed."""

    name: str
    alternatives: tuple[Alternative, ...]

    @property
    def selects(self) -> bool:
        """Whether its alternatives choose among the judgments."""
        return any(one.where for one in self.alternatives)


@dataclass(frozen=True)
class Exclusion:
    """A combination of alternatives that is not reasonable."""

    when: Mapping[str, Sequence[str]]
    because: str

    def holds(self, chosen: Mapping[str, str]) -> bool:
        """Whether a specification is one of these."""
        return all(chosen.get(decision) in names for decision, names in self.when.items())


@dataclass(frozen=True)
class Specification:
    """One alternative of each decision, in the order of the decisions."""

    choices: tuple[str, ...]
    options: Mapping[str, Any]
    where: Where

    def changes(self, primary: Specification) -> list[int]:
        """The places of the decisions that are decided otherwise."""
        return [place for place, (mine, theirs) in enumerate(zip(self.choices, primary.choices, strict=True))
                if mine != theirs]  # fmt: skip


class _AlternativeSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    options: dict[str, Any] = Field(default_factory=dict)
    where: dict[str, Any] = Field(default_factory=dict)


class _ExclusionSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    when: dict[str, str | list[str]]
    because: str


class _UniverseSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    choices: dict[str, dict[str, _AlternativeSpec | None]]
    exclude: list[_ExclusionSpec] = Field(default_factory=list)


@dataclass(frozen=True)
class Universe:
    """All decisions, and the combinations that are excluded."""

    decisions: tuple[Decision, ...]
    exclusions: tuple[Exclusion, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Universe:
        """The universe that a YAML file declares."""
        document = Document.read(path)
        spec = document.validate(_UniverseSpec)
        document.check()
        return cls.from_data({} if spec is None else spec.model_dump())

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Universe:
        """The universe in the plain data of a file."""
        decisions = tuple(
            Decision(name, tuple(_alternative(str(one), how or {}) for one, how in alternatives.items()))
            for name, alternatives in data.get("choices", {}).items()
        )
        known = {decision.name: [one.name for one in decision.alternatives] for decision in decisions}
        exclusions = []
        for one in data.get("exclude", ()):
            when = {name: [names] if isinstance(names, str) else list(names) for name, names in one["when"].items()}
            for decision, names in when.items():
                if decision not in known:
                    raise InputError(f"there is no choice '{decision}' to exclude", remedy=nearest(decision, [*known]))
                if strange := [name for name in names if name not in known[decision]]:
                    raise InputError(
                        f"choice '{decision}' has no alternative '{strange[0]}'",
                        remedy=nearest(strange[0], known[decision]),
                    )
            exclusions.append(Exclusion(when, one["because"]))
        return cls(decisions, tuple(exclusions))

    def to_data(self) -> dict[str, Any]:
        """The universe as plain data, as a file has it."""
        choices = {
            decision.name: {
                one.name: {
                    **({"options": dict(one.options)} if one.options else {}),
                    **({"where": {name: list(values) for name, values in one.where.items()}} if one.where else {}),
                }
                for one in decision.alternatives
            }
            for decision in self.decisions
        }
        exclude = [{"when": {n: list(v) for n, v in one.when.items()}, "because": one.because}
                   for one in self.exclusions]  # fmt: skip
        return {"choices": choices, **({"exclude": exclude} if exclude else {})}

    def varied(self, conclusion: Conclusion, corpus: Corpus, text: str) -> Universe:
        """The universe with one more decision, as `--vary` writes it: an option or a column, with values or without."""
        name, _, listed = text.partition("=")
        measure, values = find(conclusion.measure), [one.strip() for one in listed.split(",") if one.strip()]
        option = name.strip().replace("-", "_")
        if option in measure.options:
            choices = values or [str(one) for one in measure.choices.get(option) or () if one is not None]
            if not choices:
                raise InputError(f"--vary {name} has no values", remedy=f"write --vary {name}=VALUE,VALUE")
            made = [Alternative(one, {option: _typed(one)}) for one in choices]
        else:
            rest = {column: kept for column, kept in conclusion.where.items() if column != name}
            known = values or _values(corpus.filter(**rest) if rest else corpus, name)
            made = [Alternative(one, where={name: [one]}) for one in known]
        if option in measure.options:
            claimed = str(conclusion.options.get(option, measure.options[option].default))
        else:
            claimed = ",".join(conclusion.where.get(name, ()))
        kept = tuple(one for one in made if one.name != claimed)
        first = Alternative(claimed if len(kept) < len(made) else AS_CLAIMED)
        return replace(self, decisions=(*self.decisions, Decision(name, (first, *kept))))

    @property
    def size(self) -> int:
        """How many specifications there are before any is excluded."""
        return prod(len(decision.alternatives) for decision in self.decisions)

    def specifications(self, most: int = MOST, seed: int = 0) -> tuple[list[Specification], Counter[str]]:
        """The reasonable specifications, the claimed one first, and how many each rule excludes.

        Of more than `most` a random sample is drawn; it has the claimed one and all that change one choice.
        """
        excluded: Counter[str] = Counter()
        claimed = [decision.alternatives[0] for decision in self.decisions]
        near = [claimed, *(one for places in self._near() if (one := self._chosen(places, Counter())) is not None)]
        if self.size <= ENUMERATED:
            others = list(self._walk([], excluded))
            if len(others) > most:
                order = np.random.default_rng(seed).permutation(len(others))
                others = [others[place] for place in order]
        else:
            others = [
                one for places in self._drawn(DRAWN * most, seed) if (one := self._chosen(places, excluded)) is not None
            ]
        first = near if len(others) > most else near[:1]
        kept = {made.choices: made for made in map(_specification, (*first, *others))}
        return list(kept.values())[:most], excluded

    def _near(self) -> Iterator[tuple[int, ...]]:
        """Specifications that change one choice."""
        claimed = [0] * len(self.decisions)
        for at, decision in enumerate(self.decisions):
            for place in range(1, len(decision.alternatives)):
                yield (*claimed[:at], place, *claimed[at + 1 :])

    def _drawn(self, number: int, seed: int) -> Iterator[tuple[int, ...]]:
        rng, sizes = np.random.default_rng(seed), [len(one.alternatives) for one in self.decisions]
        yield from map(tuple, rng.integers(0, sizes, size=(number, len(sizes))).tolist())

    def _chosen(self, places: Sequence[int], excluded: Counter[str]) -> list[Alternative] | None:
        chosen = [decision.alternatives[place] for decision, place in zip(self.decisions, places, strict=True)]
        reason = self._unreasonable(chosen)
        if reason is not None:
            excluded[reason] += 1
        return chosen if reason is None else None

    def _walk(self, chosen: list[Alternative], excluded: Counter[str]) -> Iterator[list[Alternative]]:
        """All reasonable combinations that begin with these; what does not go together is not followed further."""
        at = len(chosen)
        if at == len(self.decisions):
            yield chosen
            return
        for one in self.decisions[at].alternatives:
            reason = self._unreasonable([*chosen, one])
            if reason is None:
                yield from self._walk([*chosen, one], excluded)
            else:
                excluded[reason] += prod(len(other.alternatives) for other in self.decisions[at + 1 :])

    def _unreasonable(self, chosen: Sequence[Alternative]) -> str | None:
        """Why alternatives of the first decisions do not go together, if so."""
        named = [column for one in chosen for column in one.where]
        kept = Counter(column for column in named if not column.endswith("!"))
        if any(count > 1 or f"{column}!" in named for column, count in kept.items()):
            return SAME_COLUMN
        pairs = list(zip(self.decisions, chosen, strict=False))
        moved = [decision.name for decision, one in pairs if one is not decision.alternatives[0] and decision.selects]
        if LEFT_OUT in moved and len(moved) > 1:
            return ONE_AT_A_TIME
        by_name = {decision.name: one.name for decision, one in pairs}
        return next((one.because for one in self.exclusions if one.holds(by_name)), None)


def _alternative(name: str, how: Mapping[str, Any]) -> Alternative:
    where = {column: [str(one) for one in (values if isinstance(values, list) else [values])]
             for column, values in (how.get("where") or {}).items()}  # fmt: skip
    return Alternative(name, dict(how.get("options") or {}), where)


def _specification(chosen: Sequence[Alternative]) -> Specification:
    """The options and conditions of several alternatives together; what is left out adds up."""
    options: dict[str, Any] = {}
    where: dict[str, list[str]] = {}
    for one in chosen:
        options |= one.options
        for column, values in one.where.items():
            before = where.get(column, []) if column.endswith("!") else []
            where[column] = [*dict.fromkeys([*before, *values])]
    return Specification(tuple(one.name for one in chosen), options, where)


def _typed(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), word)


def _values(corpus: Corpus, column: str) -> list[str]:
    """The values of a column that a command can name."""
    return [one for one in corpus.values_of(column) if one and "," not in one]
