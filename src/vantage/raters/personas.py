"""Personas: whom a chat model may be asked to speak as, from the bundled file or from one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import AfterValidator, Field

from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments.document import DocumentPart, Id, Text

BUNDLED: Final = {"pool": "personas", "control": "controls"}
"""The names that `Personas.load` knows, with the section of the bundled file that each stands for."""
AGE_BANDS: Final = ((30, "under 30"), (45, "30-44"), (60, "45-59"))
"""The age below which each band ends; what lies above them is "60 and over"."""


@dataclass(frozen=True, slots=True)
class Persona:
    """An invented person, described for a prompt; whatever is not given is left out of the description.

    >>> ann = Persona("ann", name="Ann Lee", age=31, country="Kenya", values=("security", "tradition"))
    >>> ann.profile()
    'Ann Lee is 31 years old and lives in Kenya. What matters most to Ann Lee: security and tradition.'
    >>> ann.traits()
    {'persona': 'ann', 'age': 31, 'age_band': '30-44', 'country': 'Kenya', 'values': 'security; tradition'}
    """

    id: str
    name: str | None = None
    age: int | None = None
    gender: str | None = None
    pronouns: str | None = None
    country: str | None = None
    region: str | None = None
    education: str | None = None
    occupation: str | None = None
    values: tuple[str, ...] = ()
    experiences: tuple[str, ...] = ()
    """Concrete occasions, told in the first person: what a question of relevance can be answered from."""
    temperament: str | None = None
    """Whole sentences on how the person behaves and speaks."""
    description: str | None = None
    """Whole sentences on what anyone who meets the person would soon know."""

    @property
    def age_band(self) -> str | None:
        """The age in one of four bands: under 30, 30-44, 45-59, 60 and over."""
        if self.age is None:
            return None
        return next((name for end, name in AGE_BANDS if self.age < end), "60 and over")

    def profile(self) -> str:
        """One paragraph in the third person, with everything that is known."""
        who = self.name or "this person"
        sentences = [
            self._introduction(),
            f"Occupation: {self.occupation}" if self.occupation else "",
            f"Education: {self.education}" if self.education else "",
            self.description or "",
            self.temperament or "",
            f"What matters most to {who}: {_enumerate(self.values)}" if self.values else "",
            f"Occasions that {who} remembers, in the first person:" if self.experiences else "",
            *(f"({number}) {occasion}" for number, occasion in enumerate(self.experiences, 1)),
        ]
        return " ".join(_closed(sentence) for sentence in sentences if sentence)

    def traits(self) -> dict[str, str | int]:
        """What is known, as columns of the raters table; free text is left to the profile."""
        columns = ("age", "age_band", "gender", "country", "region", "education", "occupation")
        known = {"persona": self.id, **{column: getattr(self, column) for column in columns}}
        known["values"] = "; ".join(self.values) or None
        return {column: value for column, value in known.items() if value is not None}

    def _introduction(self) -> str:
        spoken_of = ", ".join(filter(None, (self.gender, self.pronouns)))
        place = ", ".join(filter(None, (self.country, self.region)))
        aside = f" ({spoken_of})" if spoken_of else ""
        claims = [
            *([f"is {self.age} years old"] if self.age is not None else []),
            *([f"lives in {place}"] if place else []),
        ]
        if claims:
            return f"{self.name or 'This person'}{aside} {' and '.join(claims)}"
        return f"This is {self.name or 'a person'}{aside}" if self.name or aside else ""


class Personas(tuple[Persona, ...]):
    """Personas in the order of their file.

    >>> pool = Personas.load("pool")
    >>> len(pool), pool[0].name
    (40, 'Chiamaka Nwosu')
    >>> Personas.load("control")[0].traits()
    {'persona': 'control'}
    """

    __slots__ = ()

    @classmethod
    def load(cls, name_or_path: str | Path) -> Personas:
        """The bundled `pool`, the bundled `control`, or all personas and controls of a YAML or JSON file."""
        name = str(name_or_path)
        if name in BUNDLED and not isinstance(name_or_path, Path):
            return cls(_read(Document.bundled("vantage.raters", "bundled", "personas.yaml"), (BUNDLED[name],)))
        if isinstance(name_or_path, Path) or name.endswith((".yaml", ".yml", ".json")) or set("/\\") & set(name):
            return cls(_read(Document.read(name_or_path), ("personas", "controls")))
        raise InputError(
            f"'{name}' is neither a set of personas that comes with Vantage nor a .yaml or .json file",
            remedy=nearest(name, list(BUNDLED)),
        )


def sample(personas: Sequence[Persona], n: int, seed: int = 0) -> tuple[Persona, ...]:
    """Draws `n` personas whose age bands, genders and regions are shared out as in all of them.

    Each draw takes a persona whose three groups lie furthest behind their share, after the minimisation of
    Pocock and Simon (1975); chance decides between equals. A larger sample contains the smaller one of the
    same seed. The order is that of `personas`.

    >>> ten = sample(Personas.load("pool"), 10, seed=1)
    >>> len({persona.region for persona in ten})
    10
    """
    if not 1 <= n <= len(personas):
        raise InputError(f"{n} personas cannot be drawn from {len(personas)}", remedy=f"ask for 1 to {len(personas)}")
    groups = [(("age", p.age_band), ("gender", p.gender), ("region", p.region)) for p in personas]
    size = Counter(group for of_one in groups for group in of_one)
    chosen: list[int] = []
    taken: Counter[tuple[str, str | None]] = Counter()
    waiting = [int(index) for index in np.random.default_rng(seed).permutation(len(personas))]
    while len(chosen) < n:
        drawn = len(chosen) + 1

        # Whole numbers keep equals equal: this is (taken - drawn * share) times the number of personas.
        def ahead(index: int, drawn: int = drawn) -> int:
            return sum(len(personas) * taken[group] - drawn * size[group] for group in groups[index])

        best = min(waiting, key=ahead)
        waiting.remove(best)
        chosen.append(best)
        taken.update(groups[best])
    return tuple(personas[index] for index in sorted(chosen))


Line = Annotated[Text, AfterValidator(lambda text: " ".join(text.split()))]
"""Text that may be wrapped in the file and is one line in a prompt."""


class ControlPart(DocumentPart):
    """A persona without demographics: nothing here says who the person is."""

    id: Id
    description: Line
    temperament: Line | None = None
    values: list[Line] = Field(default_factory=list)
    experiences: list[Line] = Field(default_factory=list)


class PersonaPart(ControlPart):
    """A persona of the file; all of it is needed, so that personas can be compared."""

    name: Line
    age: Annotated[int, Field(ge=16, le=110)]
    gender: Line
    pronouns: Line
    country: Line
    region: Line
    education: Line
    occupation: Line
    values: Annotated[list[Line], Field(min_length=1)]
    experiences: Annotated[list[Line], Field(min_length=1)]
    temperament: Line


class PersonaFile(DocumentPart):
    """A file of personas and controls."""

    personas: list[PersonaPart] = Field(default_factory=list)
    controls: list[ControlPart] = Field(default_factory=list)


_KEYS: Final = {"personas": list(PersonaPart.model_fields), "controls": list(ControlPart.model_fields)}


def _read(document: Document, sections: Sequence[str]) -> list[Persona]:
    """The personas of some sections of a file, after every problem of the file has been reported."""
    if isinstance(document.data, list):
        document.data = {"personas": document.data}
        document.lines = {("personas", *loc): line for loc, line in document.lines.items()}
    if isinstance(document.data, Mapping):
        _note_repeated_ids(document)
        document.data = _known_only(document, (), document.data, list(_KEYS))
        for section, entries in document.data.items():
            if isinstance(entries, list):
                document.data[section] = [
                    _known_only(document, (section, index), entry, _KEYS[section])
                    for index, entry in enumerate(entries)
                ]
        if not any(document.data.values()):
            document.problem((), "there is no persona in it; list at least one under 'personas'")
    file = document.validate(PersonaFile)
    document.check()
    assert file is not None  # noqa: S101 -- a document without a problem has validated
    parts = [part for section in sections for part in getattr(file, section)]
    lists = [{"values": tuple(part.values), "experiences": tuple(part.experiences)} for part in parts]
    return [Persona(**{**part.model_dump(), **known}) for part, known in zip(parts, lists, strict=True)]


def _known_only(document: Document, loc: tuple[str | int, ...], entry: Any, known: Sequence[str]) -> Any:
    """A mapping without the keys that are not known, each of which is noted with the nearest one that is."""
    if not isinstance(entry, Mapping):
        return entry
    for key in entry:
        if key not in known:
            document.problem((*loc, key), f"there is no such key; {nearest(str(key), known)}")
    return {key: value for key, value in entry.items() if key in known}


def _note_repeated_ids(document: Document) -> None:
    first: dict[str, int | None] = {}
    for section in _KEYS:
        entries = document.data.get(section)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if not isinstance(entry, Mapping) or not isinstance(name := entry.get("id"), str):
                continue
            loc = (section, index, "id")
            if name in first:
                document.problem(loc, f"the id '{name}' is already taken at line {first[name]}; rename one of them")
            first.setdefault(name, document.line(loc))


def _enumerate(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _closed(sentence: str) -> str:
    """A sentence with the full stop that its writer may have left out."""
    return sentence if sentence.rstrip("”\"')").endswith((".", "!", "?", "…", ":")) else f"{sentence}."
