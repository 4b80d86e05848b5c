"""Simulated readers: the methods by which a model's doubt is made visible, and the raters that each consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from vantage.errors import InputError, nearest
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import ChatModel
from vantage.raters.personas import Persona, Personas, sample

Answers = Literal["auto", "sampling", "scoring"]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make a model's doubt visible.

    Args:
        name: What it is called in options and tables.
        voice: The plain model, every persona, or only personas to whom the item is relevant.
        reasoning: Whether reasons come before the answer.
    """

    name: str
    voice: Literal["", "persona", "selective-persona"] = ""
    reasoning: bool = False

    def style(self, scoring: bool) -> str:
        """The prompting style of its raters."""
        voice = "persona" if scoring and self.voice else self.voice
        parts = ["reasoning" if self.reasoning else "", "scoring" if scoring else "", voice]
        return "+".join(part for part in parts if part) or "zero-shot"


METHODS: Final = {
    method.name: method
    for method in (
        Method("direct"),
        Method("reasoning", reasoning=True),
        Method("persona", "persona"),
        Method("persona-reasoning", "persona", reasoning=True),
        Method("selective", "selective-persona"),
        Method("selective-reasoning", "selective-persona", reasoning=True),
    )
}
"""The methods by name; the last one is that of the paper ("Selective Persona - CoT")."""


@dataclass(frozen=True)
class Simulator:
    """A model with everything that says how it is asked.

    Args:
        model: The model, by name or as an object.
        personas: The personas of the methods that need some: `pool`, a file, or persona objects.
        count: How many of them, drawn so that their traits are shared out as in all; 0 for all.
        answers: Whether replies are sampled or options scored; `auto` scores the embedded model and samples others.
            Methods with reasons always sample.
        samples: How often each rater answers each item when replies are sampled.
        temperature: Of sampled replies.
        max_tokens: The longest reply.
        seed: Random seed.
        settings: Settings of the model.
    """

    model: str | ChatModel
    personas: str | Path | Sequence[Persona] = "pool"
    count: int = 0
    answers: Answers = "auto"
    samples: int = 20
    temperature: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model_name(self) -> str:
        """The model as it is named."""
        return self.model if isinstance(self.model, str) else self.model.name

    def scores(self, method: Method) -> bool:
        """Whether a method reads the probabilities of options."""
        if method.reasoning:
            return False
        return self.model_name == "embedded" if self.answers == "auto" else self.answers == "scoring"

    def gates(self, method: str) -> bool:
        """Whether personas of a method are asked about an item only if its scored relevance is high enough."""
        chosen = find_method(method)
        return chosen.voice == "selective-persona" and self.scores(chosen)

    def people(self) -> tuple[Persona, ...]:
        """The personas that take part."""
        given = self.personas
        known = tuple(Personas.load(given)) if isinstance(given, str | Path) else tuple(given)
        if not known:
            raise InputError("there are no personas", remedy="name 'pool', a file, or some personas")
        return sample(known, self.count, self.seed) if self.count else known

    def raters(self, method: Method) -> list[ChatRater]:
        """The raters of a method, whose names keep them apart from the same model when it is itself judged."""
        scoring = self.scores(method)
        chosen: dict[str, Any] = {"seed": self.seed, "settings": dict(self.settings)}
        if not scoring:
            chosen |= {"samples": self.samples, "temperature": self.temperature, "max_tokens": self.max_tokens}
        base = f"{self.model_name}+detect-{method.name}"
        if not method.voice:
            return [ChatRater(self.model, method.style(scoring), name=base, **chosen)]
        return [
            ChatRater(self.model, method.style(scoring), persona=one, name=f"{base}/{one.id}", **chosen)
            for one in self.people()
        ]


def find_method(name: str) -> Method:
    """The method with this name.

    >>> find_method("selectiv")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: there is no method of detection 'selectiv'; did you mean 'selective'?
    """
    if name not in METHODS:
        raise InputError(f"there is no method of detection '{name}'", remedy=nearest(name, list(METHODS)))
    return METHODS[name]
