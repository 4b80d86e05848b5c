"""What a study run was: everything that `study.json` states besides the tables and figures themselves."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage._version import __version__
from vantage.corpora import Corpus
from vantage.errors import VantageError
from vantage.runs.profiles import profiles
from vantage.runs.store import NAME, RunStore
from vantage.scales import STATUSES

State = Literal["running", "complete", "interrupted"]
LIBRARIES: Final = ("numpy", "polars", "scipy", "scikit-learn", "matplotlib")
"""Libraries whose version can change a figure."""


@dataclass
class Record:
    """A run of a study, as it is told in the methods section and kept in `study.json`.

    Args:
        study: The study's name; `corpus` for the plain report on a corpus.
        state: `running` until the run ends; a folder that says so without a run was cut off.
        reason: Why it was interrupted.
        options: Every option of the study with the value used.
        planned: How many judgments were planned, by rater.
        counts: How many judgments there are, by rater and status.
        missing: What is not there, one sentence each.
        asked: What is known of each model: its profile, how much it thinks.
    """

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
    asked: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Record:
        """A record from the plain data of a file; unknown keys of a later version are left out."""
        known = {part.name for part in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def to_data(self) -> dict[str, Any]:
        """The record as plain data."""
        return asdict(self)

    def describe(self, corpus: Corpus, *folders: Path | None) -> None:
        """Takes from a corpus, and from run stores in folders, what the methods section says of them."""
        judgments = corpus.judgments
        self.asked = asked_models(corpus, [corpus.folder, *folders])
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
            name = rater if kinds[rater] in ("model", "persona") else f"all raters of kind {kinds[rater]}"
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
        record.describe(corpus.included(), corpus.folder)
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


def asked_models(corpus: Corpus, folders: Iterable[Path | None]) -> list[dict[str, Any]]:
    """One row per model of which anything is known: from the replies, and from run stores in folders."""
    rows_of: dict[str, dict[str, Any]] = {}
    for row in _thinking(corpus):
        rows_of.setdefault(row.pop("model"), {}).update(row)
    for folder in dict.fromkeys(place for place in folders if place is not None and place.is_dir()):
        for row in _profiled(folder):
            name = str(row.pop("model"))
            known = next((one for one in rows_of if one == name or one.endswith(f":{name}")), name)
            rows_of.setdefault(known, {}).update(row)
    return [{"model": model, **row} for model, row in sorted(rows_of.items())]


def _thinking(corpus: Corpus) -> list[dict[str, Any]]:
    """How many replies came with thinking, and how long that was."""
    if "thinking" not in corpus.judgments.columns:
        return []
    model = pl.col("model").fill_null(pl.col("rater")) if "model" in corpus.raters.columns else pl.col("rater")
    models = corpus.raters.select("rater", model.alias("model"))
    words = pl.col("thinking").str.split(" ").list.len().filter(pl.col("thinking").is_not_null())
    answered = corpus.judgments.filter(pl.col("reply").is_not_null() if "reply" in corpus.judgments.columns else True)
    share = pl.col("thinking").is_not_null().mean().alias("thought")
    rows = answered.join(models, on="rater").group_by("model").agg(share, words.mean().alias("thinking_words"))
    return rows.filter(pl.col("thought") > 0).to_dicts()


def _profiled(folder: Path) -> list[dict[str, Any]]:
    """What probing the endpoint showed."""
    if not (folder / NAME).is_file():
        return []
    wanted = ("model", "schema", "logprobs", "thinks", "window", "repeats", "probed")
    try:
        with RunStore(folder / NAME, read_only=True) as store:
            return [{name: value for name, value in asdict(one).items() if name in wanted} for one in profiles(store)]
    except VantageError:
        return []
