"""The corpus folder: `corpus.yaml` and three Parquet files, written so that a crash leaves the old or the new.

`corpus.yaml` says where a corpus comes from and holds its instruments, whole. New files are prepared in a hidden folder
beside the old ones and made durable; renaming that folder to `.commit` is the moment at which the new corpus exists.
Moving its files into place is then repeated by whoever opens the folder next, should the writer not have lived to
finish it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock

from vantage._version import __version__
from vantage.corpora.traits import TraitScale, to_plain
from vantage.corpora.weighting import StoredWeights
from vantage.corpora.writers.place import as_input_error, prepared_folder, sync
from vantage.documents import Document, dump
from vantage.errors import InputError
from vantage.instruments import Instrument

if TYPE_CHECKING:
    from vantage.corpora import Corpus

MANIFEST: Final = "corpus.yaml"
FILES: Final = ("items.parquet", "raters.parquet", "judgments.parquet", MANIFEST)
COMMIT: Final = ".commit"
PREPARING: Final = ".preparing-"
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
    item_sources: str = field(default="", repr=False)
    """The column of items whose values were drawn whole, such as conversations (see `Corpus.design`)."""
    rater_groups: str = field(default="", repr=False)
    """The same of raters."""
    traits: Mapping[str, TraitScale] = field(default_factory=dict, repr=False, hash=False)
    """The scales of raters' traits that were declared; `Corpus.trait_scales` has all of them."""
    weights: Mapping[str, StoredWeights] = field(default_factory=dict, repr=False, hash=False)
    """Where columns of raters that hold weights come from (see `Corpus.with_weights`)."""

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
        scales = {trait: scale for part in reversed(parts) for trait, scale in part.traits.items()}
        weights = {name: record for part in reversed(parts) for name, record in part.weights.items()}
        return replace(self, **named, notes=notes, traits=scales, weights=weights)


def manifest(about: About, instruments: Iterable[Instrument]) -> str:
    """What `corpus.yaml` says."""
    facts = {one.name: value for one in fields(about) if (value := getattr(about, one.name))}
    facts |= {"notes": list(about.notes)} if about.notes else {}
    facts |= {"traits": to_plain(about.traits)} if about.traits else {}
    stored = {name: made.model_dump(mode="json", exclude_defaults=True) for name, made in about.weights.items()}
    facts |= {"weights": stored} if stored else {}
    documents = [dict(instrument.document) for instrument in instruments]
    return dump({"format": FORMAT, "about": facts, "written_by": f"vantage {__version__}", "instruments": documents})


def read_manifest(manifest: Document) -> tuple[tuple[Instrument, ...], About]:
    """The instruments and the origin of a corpus."""
    data = manifest.data
    if not isinstance(data, Mapping) or not isinstance(data.get("instruments"), list):
        raise InputError("this is not the manifest of a corpus", file=manifest.file, remedy="import the data again")
    if not isinstance(data.get("format"), int) or data["format"] > FORMAT:
        problem = f"the corpus has format {data.get('format')}, this Vantage reads format {FORMAT}"
        raise InputError(problem, file=manifest.file, remedy="update Vantage")
    about = data.get("about") or {}
    known = set(About.__dataclass_fields__)
    if not isinstance(about, Mapping) or not set(about) <= known:
        raise InputError("the part 'about' has keys that are not known", file=manifest.file)
    traits, weights = (about.get(part) or {} for part in ("traits", "weights"))
    for part, given in (("traits", traits), ("weights", weights)):
        if not isinstance(given, Mapping):
            raise InputError(f"the part '{part}' is not a mapping", file=manifest.file)
    facts: dict[str, Any] = {k: tuple(map(str, v)) if isinstance(v, list) else str(v) for k, v in about.items()}
    facts["traits"] = {str(trait): TraitScale.of(scale) for trait, scale in traits.items()}
    try:
        facts["weights"] = {str(name): StoredWeights.model_validate(record) for name, record in weights.items()}
    except (KeyError, TypeError, ValueError):
        raise InputError("the part 'weights' cannot be read", file=manifest.file, remedy="weight it again") from None
    instruments = tuple(Instrument.from_document(d, file=manifest.file) for d in data["instruments"])
    return instruments, About(**facts)


def is_corpus(folder: Path) -> bool:
    """Whether the folder holds a corpus."""
    return (folder / MANIFEST).is_file() or (folder / COMMIT / MANIFEST).is_file()


def file(folder: Path, name: str) -> Path:
    """Where a file of the corpus is now: in place, or in a commit that could not be finished (read-only folder)."""
    pending = folder / COMMIT / name
    return pending if pending.is_file() else folder / name


def finish(folder: Path) -> None:
    """Completes a write that was cut off after its commit."""
    if not (folder / COMMIT).is_dir() or not os.access(folder, os.W_OK):
        return
    with FileLock(folder / ".lock", timeout=60):
        _move_into_place(folder)


def write_folder(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the corpus folder; one that holds a corpus already is only replaced if told so."""
    if is_corpus(path) and not overwrite:
        remedy = "choose another folder or pass --overwrite"
        raise InputError("the folder holds a corpus already", file=path, remedy=remedy)
    return corpus.write(path)


def write(folder: Path, prepare: Callable[[Path], None]) -> None:
    """Replaces the corpus in a folder by the files that `prepare` writes into an empty one.

    Other files in the folder are left alone. A folder that has files but no corpus is refused.
    """
    folder = folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", file=folder, remedy="choose another folder")
    if folder.is_dir() and not is_corpus(folder) and any(not e.name.startswith(".") for e in folder.iterdir()):
        problem = "the folder has other files and no corpus in it"
        raise InputError(problem, file=folder, remedy="choose a new or empty folder")
    with as_input_error(folder):
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            prepared_folder(folder.parent, f".{folder.name}-", prepare, lambda prepared: prepared.rename(folder))
            return
        with FileLock(folder / ".lock", timeout=60):
            _move_into_place(folder)
            for leftover in folder.glob(f"{PREPARING}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            prepared_folder(folder, PREPARING, prepare, lambda prepared: prepared.rename(folder / COMMIT))
            _move_into_place(folder)


def _move_into_place(folder: Path) -> None:
    commit = folder / COMMIT
    if not commit.is_dir():
        return
    for name in FILES:
        if (commit / name).exists():
            (commit / name).replace(folder / name)
    sync(folder)
    shutil.rmtree(commit)
