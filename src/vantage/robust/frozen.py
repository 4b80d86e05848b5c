"""A plan that is frozen before the data are looked at: what is asked, how it is decided, and a hash of all of it.

A report that is made later says "as planned", or names every deviation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator

from vantage.corpora import Corpus
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.report import counted
from vantage.robust.conclusion import Conclusion
from vantage.robust.universe import Universe

if TYPE_CHECKING:
    from vantage.robust.multiverse import Multiverse


class FrozenPlan(BaseModel):
    """What was planned: the question and what is estimated in words, the primary specification and the other choices.

    `exclusions` has who is excluded, one reason each; `stopping` how many items, raters or judgments of people end the
    collection; `frozen` the date, and `hash` what the file states, which is empty before it is written.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    question: str
    estimand: str
    claim: Conclusion
    universe: Universe
    exclusions: list[str] = []
    stopping: dict[Literal["items", "raters", "judgments"], PositiveInt] = {}
    frozen: str = Field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    hash: str = ""

    @field_validator("claim")
    @classmethod
    def _known(cls, claim: Conclusion) -> Conclusion:
        return Conclusion.of(claim.measure, claim.options, claim.where, claim.row, claim.reference)

    @classmethod
    def read(cls, path: Path) -> FrozenPlan:
        """The plan in a file; that it was changed is a deviation and not an error."""
        document = Document.read(path)
        plan = document.validate(cls)
        document.check()
        if plan is None or not plan.hash:
            raise InputError("this is not a frozen plan", file=path, remedy="write one with: vantage plan freeze")
        return plan

    def to_data(self) -> dict[str, Any]:
        """The plan as plain data, without the hash."""
        given = self.model_dump(exclude_defaults=True, exclude={"hash"})
        return {**given, "exclusions": self.exclusions, "stopping": self.stopping, "frozen": self.frozen}

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan, whatever the layout of its file."""
        text = json.dumps(self.to_data(), sort_keys=True, ensure_ascii=False, default=str)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def text(self) -> str:
        """The plan as a file, with its hash."""
        return dump({**self.to_data(), "hash": self.digest})

    def registration(self) -> str:
        """The plan in the words of a registration."""
        choices = self.universe.choices.items()
        claimed = "; ".join(f"{name}: {next(iter(alternatives))}" for name, alternatives in choices)
        decisions = "\n".join(f"- {name}: {', '.join(alternatives)}" for name, alternatives in choices)
        stopping = ", ".join(f"{number:,} {name}" for name, number in self.stopping.items())
        parts = {
            "Question": self.question,
            "Estimand": self.estimand,
            "Primary specification": f"{self.claim.sentence()}; {claimed or 'no other choices'}. "
            f"It is computed with: {self.claim.command('CORPUS')}",
            "Universe": f"{self.universe.size:,} combinations of these choices, the primary one first; those that do "
            f"not go together are excluded by rule and counted:\n{decisions or '- none'}",
            "Exclusions": "; ".join(self.exclusions) or "Nobody is excluded.",
            "Stopping": f"Collection ends with {stopping} of people." if stopping else "No rule.",
            "Inference": "The primary specification decides, at a level of 5 %, two-sided. Beside it we report the "
            "share of specifications with the same verdict and one joint test of all of them.",
        }
        lines = [f"**{name}.** {text}" for name, text in parts.items()]
        return "\n\n".join([*lines, f"Frozen on {self.frozen}, {self.digest}."]) + "\n"

    def deviations(self, made: Multiverse, corpus: Corpus) -> list[str]:
        """Every deviation of an analysis from the plan, or one sentence that there is none."""
        name = f"plan of {self.frozen}, {self.digest.removeprefix('sha256:')[:12]}"
        stated = [f"Deviation from the {name}: {one}." for one in self._deviations(made, corpus)]
        return stated or [f"As planned ({name})."]

    def _deviations(self, made: Multiverse, corpus: Corpus) -> Iterator[str]:
        if self.hash and self.hash != self.digest:
            yield "the file was changed after it was frozen, so that its hash does not fit"
        claimed, now = _parts(self.claim), _parts(made.conclusion)
        for name in claimed | now:
            before, after = ("nothing" if one.get(name) is None else one[name] for one in (claimed, now))
            if before != after:
                yield f"{name} is {after}, and {before} was planned"
        planned, used = self.universe.choices, made.universe.choices
        for name in (one for one in planned | used if planned.get(one) != used.get(one)):
            how = "is varied and was not planned" if name in used else "was planned and is not varied"
            yield f"the choice '{name}' {how if (name in planned) != (name in used) else 'has other alternatives'}"
        if self.universe.exclude != made.universe.exclude:
            yield "other combinations are excluded than was planned"
        people = corpus.people()
        kept = people.included()
        out = people.raters.join(kept.raters, on="rater", how="anti")
        reasons = [str(one) for one in out["excluded"]] if len(out) else []
        if unplanned := [one for one in reasons if one not in self.exclusions]:
            who, why = counted(len(unplanned), "rater"), ", ".join(sorted({*unplanned}))
            yield f"{who} excluded for reasons that were not planned: {why}"
        for name, number in self.stopping.items():
            there = kept.judgments[name.removesuffix("s")].n_unique() if name != "judgments" else len(kept.judgments)
            if there != number:
                yield f"there are {there:,} {name}, and collection was to end with {number:,}"


def _parts(claim: Conclusion) -> dict[str, Any]:
    """What a claim consists of, as a sentence names it."""
    known = claim.model_dump()
    nested = {f"{part} {name}": value for part in ("options", "where", "row") for name, value in known[part].items()}
    return {f"the {part}": known[part] for part in ("measure", "reference")} | nested
