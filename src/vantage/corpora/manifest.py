"""`corpus.yaml`: where a corpus comes from, and its instruments, whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from vantage._version import __version__
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.instruments import Instrument

FORMAT: Final = 1
"""The version of the folder format; a folder of a higher one was written by a newer Vantage."""


@dataclass(frozen=True, slots=True)
class About:
    """Where a corpus comes from, kept with it."""

    name: str = "corpus"
    title: str = ""
    source: str = ""
    """Where the original is published."""
    licence: str = ""
    citation: str = ""
    language: str = ""
    notes: tuple[str, ...] = ()
    """What a user of the data must know: defects, decisions made in reading them, content warnings."""

    def joined(self, *others: About) -> About:
        """That of several corpora in one: the name of the first; titles, sources, licences, citations and notes of all.

        >>> About(name="a", licence="MIT", notes=("One.",)).joined(About(licence="CC0", notes=("One.", "Two.")))
        About(name='a', title='', source='', licence='MIT; CC0', citation='', language='', notes=('One.', 'Two.'))
        """
        parts = (self, *others)
        notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
        named = {
            name: "; ".join(dict.fromkeys(value for part in parts if (value := getattr(part, name))))
            for name in ("title", "source", "licence", "citation", "language")
        }
        return replace(self, **named, notes=notes)


def manifest(about: About, instruments: Iterable[Instrument]) -> str:
    """What `corpus.yaml` says."""
    facts = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(about).items() if value}
    documents = [dict(instrument.document) for instrument in instruments]
    return dump({"format": FORMAT, "about": facts, "written_by": f"vantage {__version__}", "instruments": documents})


def read_manifest(manifest: Document) -> tuple[tuple[Instrument, ...], About]:
    """The instruments and the origin of a corpus."""
    data = manifest.data
    if not isinstance(data, Mapping) or not isinstance(data.get("instruments"), list):
        raise InputError("this is not the manifest of a corpus", file=manifest.file, remedy="import the data again")
    if not isinstance(data.get("format"), int) or data["format"] > FORMAT:
        raise InputError(
            f"the corpus has format {data.get('format')}, this Vantage reads format {FORMAT}",
            file=manifest.file,
            remedy="update Vantage",
        )
    about = data.get("about") or {}
    known = set(About.__dataclass_fields__)
    if not isinstance(about, Mapping) or not set(about) <= known:
        raise InputError("the part 'about' has keys that are not known", file=manifest.file)
    fields: dict[str, Any] = {k: tuple(map(str, v)) if isinstance(v, list) else str(v) for k, v in about.items()}
    instruments = tuple(Instrument.from_document(d, file=manifest.file) for d in data["instruments"])
    return instruments, About(**fields)
