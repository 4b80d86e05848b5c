"""A plan that is frozen before the data are looked at: what is asked, how it is decided, and a hash of all of it.

A report that is made later says "as planned", or names every deviation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from vantage.corpora import Corpus
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.robust.conclusion import Conclusion
from vantage.robust.universe import Universe

if TYPE_CHECKING:
    from vantage.robust.multiverse import Multiverse

COUNTED: Final = ("items", "raters", "judgments")
"""What a stopping rule can count: of people, and of what they judged."""
SHOWN: Final = 12
"""So many characters of the hash are shown."""


class _ClaimSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    measure: str
    options: dict[str, Any] = Field(default_factory=dict)
    where: dict[str, list[str]] = Field(default_factory=dict)
    row: dict[str, Any] = Field(default_factory=dict)
    reference: float


class _PlanSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str
    estimand: str
    claim: _ClaimSpec
    universe: dict[str, Any] = Field(default_factory=dict)
    exclusions: list[str] = Field(default_factory=list)
    stopping: dict[str, int] = Field(default_factory=dict)
    frozen: str
    hash: str


@dataclass(frozen=True)
class FrozenPlan:
    """What was planned.

    Args:
        question: The research question, in words.
        estimand: What is estimated, in words.
        conclusion: The primary specification.
        universe: The other choices that count as reasonable.
        exclusions: Who is excluded, one reason each.
        stopping: How many items, raters or judgments of people end the collection.
        frozen: When it was frozen, as an ISO date.
        given: The hash that the file states; empty for a plan that was not read from one.
    """

    question: str
    estimand: str
    conclusion: Conclusion
    universe: Universe
    exclusions: Sequence[str] = ()
    stopping: Mapping[str, int] = field(default_factory=dict)
    frozen: str = ""
    given: str = ""

    @classmethod
    def read(cls, path: Path) -> FrozenPlan:
        """The plan in a file; that it was changed is a deviation and not an error."""
        document = Document.read(path)
        spec = document.validate(_PlanSpec)
        document.check()
        if spec is None:
            raise InputError("this is not a frozen plan", file=path, remedy="write one with: vantage plan freeze")
        claim = spec.claim
        conclusion = Conclusion.of(claim.measure, claim.options, claim.where, claim.row, claim.reference)
        universe = Universe.from_data(spec.universe)
        return cls(spec.question, spec.estimand, conclusion, universe, spec.exclusions, spec.stopping,
                   spec.frozen, spec.hash)  # fmt: skip

    def dated(self) -> FrozenPlan:
        """The plan, frozen today."""
        for name, number in self.stopping.items():
            if name not in COUNTED or number < 1:
                raise InputError(
                    f"a stopping rule cannot be {name}={number}", remedy=f"count one of {', '.join(COUNTED)}"
                )
        return replace(self, frozen=datetime.now(UTC).date().isoformat())

    def to_data(self) -> dict[str, Any]:
        """The plan as plain data, without the hash."""
        return {
            "question": self.question,
            "estimand": self.estimand,
            "claim": self.conclusion.to_data(),
            "universe": self.universe.to_data(),
            "exclusions": list(self.exclusions),
            "stopping": dict(self.stopping),
            "frozen": self.frozen,
        }

    @property
    def hash(self) -> str:
        """The SHA-256 of the plan, whatever the layout of its file."""
        text = json.dumps(self.to_data(), sort_keys=True, ensure_ascii=False, default=str)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def text(self) -> str:
        """The plan as a file, with its hash."""
        return dump({**self.to_data(), "hash": self.hash})

    def registration(self) -> str:
        """The plan in the words of a registration."""
        decisions = [
            f"- {decision.name}: {', '.join(one.name for one in decision.alternatives)}"
            for decision in self.universe.decisions
        ]
        claimed = [f"{decision.name}: {decision.alternatives[0].name}" for decision in self.universe.decisions]
        stopping = ", ".join(f"{number:,} {name}" for name, number in self.stopping.items())
        lines = [
            f"**Question.** {self.question}",
            f"**Estimand.** {self.estimand}",
            f"**Primary specification.** {self.conclusion.sentence()}; {'; '.join(claimed) or 'no other choices'}. "
            f"It is computed with: {self.conclusion.command('CORPUS')}",
            f"**Universe.** {self.universe.size:,} combinations of these choices, the primary one first; those that do "
            "not go together are excluded by rule and counted:\n" + ("\n".join(decisions) or "- none"),
            f"**Exclusions.** {'; '.join(self.exclusions) or 'Nobody is excluded.'}",
            f"**Stopping.** {f'Collection ends with {stopping} of people.' if stopping else 'No rule.'}",
            "**Inference.** The primary specification decides, at a level of 5 %, two-sided. Beside it we report the "
            "share of specifications with the same verdict and one joint test of all of them.",
            f"Frozen on {self.frozen}, {self.hash}.",
        ]
        return "\n\n".join(lines) + "\n"

    def deviations(self, made: Multiverse, corpus: Corpus) -> list[str]:
        """Every deviation of an analysis from the plan, or one sentence that there is none."""
        stated = [*self._of_file(), *self._of_claim(made.conclusion), *self._of_universe(made.universe)]
        stated += [*self._of_data(corpus)]
        name = f"plan of {self.frozen}, {self.hash.removeprefix('sha256:')[:SHOWN]}"
        if not stated:
            return [f"As planned ({name})."]
        return [f"Deviation from the {name}: {one}." for one in stated]

    def _of_file(self) -> Iterator[str]:
        if self.given and self.given != self.hash:
            yield "the file was changed after it was frozen, so that its hash does not fit"

    def _of_claim(self, conclusion: Conclusion) -> Iterator[str]:
        planned, used = self.conclusion.to_data(), conclusion.to_data()
        for part in ("measure", "options", "where", "row", "reference"):
            before, now = planned.get(part), used.get(part)
            if before == now:
                continue
            if not isinstance(before or {}, dict) or not isinstance(now or {}, dict):
                yield f"the {part} is {now}, and {before} was planned"
                continue
            for name in sorted({*(before or {}), *(now or {})}):
                one, other = (before or {}).get(name), (now or {}).get(name)
                if one != other:
                    yield f"{part} {name} is {_words(other)}, and {_words(one)} was planned"

    def _of_universe(self, universe: Universe) -> Iterator[str]:
        planned, used = ({one.name: one for one in made.decisions} for made in (self.universe, universe))
        for name in planned.keys() | used.keys():
            if name not in used:
                yield f"the choice '{name}' was planned and is not varied"
            elif name not in planned:
                yield f"the choice '{name}' is varied and was not planned"
            elif planned[name] != used[name]:
                yield f"the alternatives of '{name}' are not those that were planned"
        if self.universe.exclusions != universe.exclusions:
            yield "other combinations are excluded than was planned"

    def _of_data(self, corpus: Corpus) -> Iterator[str]:
        people = corpus.people()
        out = people.raters.join(people.included().raters, on="rater", how="anti")
        if len(out):
            reasons = out["excluded"].cast(pl.String).unique().sort().to_list()
            unplanned = [one for one in reasons if one not in self.exclusions]
            if not self.exclusions:
                yield f"{len(out):,} raters are excluded, and nobody was to be"
            elif unplanned:
                yield f"raters are excluded for reasons that were not planned: {', '.join(unplanned)}"
        used = people.included()
        for name, number in self.stopping.items():
            there = used.judgments[name.removesuffix("s")].n_unique() if name != "judgments" else len(used.judgments)
            if there != number:
                yield f"there are {there:,} {name}, and collection was to end with {number:,}"


def _words(value: Any) -> str:
    return "nothing" if value is None else str(value)
