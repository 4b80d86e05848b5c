"""What a study run was: everything that `study.json` states besides the tables and figures themselves."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.scales import STATUSES

State = Literal["running", "complete", "interrupted"]
LIBRARIES: Final = ("numpy", "polars", "scipy", "scikit-learn", "matplotlib")
"""Libraries whose version can change a figure."""
KINDS: Final = {"person": "all people", "slot": "all seats", "trained": "all trained raters"}
"""Raters who are counted together."""


@dataclass
class Record:
    """A run of a study, as the methods section describes it and `study.json` stores it."""

    study: str
    title: str
    questions: list[str] = field(default_factory=list)
    state: State = "running"
    reason: str = ""
    started: str = ""
    finished: str = ""
    data: str = ""
    models: list[str] = field(default_factory=list)
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    instruments: list[dict[str, Any]] = field(default_factory=list)
    corpus: dict[str, Any] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Record:
        """A record from the plain data of a file; unknown keys of a later version are left out."""
        known = {part.name for part in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def to_data(self) -> dict[str, Any]:
        """The record as plain data."""
        return asdict(self)

    def describe(self, corpus: Corpus) -> None:
        """Takes from a corpus what the methods section says of it."""
        judgments = corpus.judgments
        self.instruments = [{"id": i.id, "version": i.version, "title": i.title} for i in corpus.instruments]
        self.corpus = {
            **{name: getattr(corpus.about, name) for name in ("name", "title", "source", "licence", "citation")},
            "notes": list(corpus.about.notes),
            **corpus.sizes,
        }
        self.counts = {}
        kinds = dict(corpus.raters.select("rater", "kind").iter_rows())
        counted = judgments.group_by("rater", "status", maintain_order=True).len()
        for rater, status, count in counted.iter_rows():
            # People are counted together: a report has no use for a line per annotator.
            name = rater if kinds[rater] in ("model", "persona") else KINDS.get(kinds[rater], f"all {kinds[rater]}s")
            row = self.counts.setdefault(name, dict.fromkeys(STATUSES, 0))
            row[status] = row.get(status, 0) + count

    @property
    def unfinished(self) -> dict[str, tuple[int, int]]:
        """Raters who have fewer judgments than were planned: how many there are, and how many were planned."""
        there = {rater: sum(counts.values()) for rater, counts in self.counts.items()}
        short = {rater: (there.get(rater, 0), planned) for rater, planned in self.planned.items()}
        return {rater: (have, planned) for rater, (have, planned) in short.items() if have < planned}


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def made_at_once(study: str, title: str, corpus: Corpus | None = None, **known: Any) -> Record:
    """The record of a report that is made in one go; of one on a corpus, with what is to be said of that."""
    record = Record(study, title, state="complete", started=now(), finished=now(), versions=versions(), **known)
    if corpus is not None:
        record.data = str(corpus.folder or "")
        record.describe(corpus.included())
    return record


def versions(further: Iterable[str] = ()) -> dict[str, str]:
    """The versions of Vantage, Python and the libraries that numbers and figures depend on."""
    versions_of = {"vantage": __version__, "python": platform.python_version()}
    for library in (*LIBRARIES, *further):
        try:
            versions_of[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions_of
