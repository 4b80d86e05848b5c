"""What paths hold: a corpus, a run store, the folder of a study or report, or a study that is being collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.storage import FILES, file, is_corpus
from vantage.errors import InputError

STORE: Final = "runs.sqlite"
"""The store inside a folder: `vantage.runs.store.NAME`, which is dear to import."""
CORPUS: Final = "corpus"
"""The corpus inside the folder of a study."""
PAGE: Final = "report.html"
"""The report of a study, or of a corpus inside its folder `report`."""
SOURCE: Final = "source"
"""The column of raters that names the path, where there are several."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A path that can be looked at, and read again when its files have changed."""

    path: Path
    read: Callable[[], Corpus] | None
    watched: tuple[Path, ...]
    folder: Path | None = None
    """The corpus folder, where there is one."""
    store: Path | None = None
    """Where calls are stored, or will be once a run begins."""
    report: Path | None = None

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.path.resolve().name or str(self.path)

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Changes whenever one of the files does."""
        known = [path.stat() for path in self.watched if path.exists()]
        return tuple((stat.st_mtime_ns, stat.st_size) for stat in known)


def open_path(path: str | Path) -> Opened:
    """What a path holds."""
    path = Path(path).expanduser()
    if not path.exists():
        raise InputError("there is no such file or folder", file=path, remedy="name a corpus, a run or a study")
    if path.is_file():
        if path.suffix in (".yaml", ".yml"):
            return _collected(path)
        if path.suffix == ".sqlite":
            return _with_store(Opened(path, None, (), store=path), path.parent)
        remedy = "name a corpus folder, a runs.sqlite, the folder of a study or a collect file"
        raise InputError("this file is neither a run store nor a study file", file=path, remedy=remedy)
    if is_corpus(path):
        return _of_corpus(path, path)
    from vantage.report.folder import is_report

    if is_report(path) or (path / STORE).is_file():
        inside = path / CORPUS
        opened = _of_corpus(path, inside) if is_corpus(inside) else Opened(path, None, ())
        opened = _with_store(opened, path)
        return replace(opened, report=path / PAGE) if (path / PAGE).is_file() else opened
    nothing, remedy = "the folder holds no corpus, no run and no study", "make a corpus with: vantage corpora import"
    raise InputError(nothing, file=path, remedy=remedy)


def open_paths(paths: Sequence[str | Path]) -> tuple[list[Opened], Callable[[], Corpus | None]]:
    """What the paths hold, and a function that reads their judgments as one corpus.

    With several paths, raters that occur in more than one of them get the path's name added.
    """
    opened = [open_path(path) for path in paths]

    def read() -> Corpus | None:
        corpora = [(one.name, one.read()) for one in opened if one.read is not None]
        if len(corpora) < 2:
            return corpora[0][1] if corpora else None
        names = [name for name, _ in corpora]
        distinct = [name if names.count(name) == 1 else f"{name} {place}" for place, name in enumerate(names, 1)]
        return _joined([(name, corpus) for name, (_, corpus) in zip(distinct, corpora, strict=True)])

    return opened, read


def _of_corpus(path: Path, folder: Path) -> Opened:
    page = folder / "report" / PAGE
    opened = Opened(path, lambda: Corpus.read(folder), tuple(file(folder, name) for name in FILES), folder)
    return _with_store(replace(opened, report=page if page.is_file() else None), folder)


def _with_store(opened: Opened, folder: Path) -> Opened:
    store = opened.store or folder / STORE
    return replace(opened, store=store, watched=(*opened.watched, store, store.with_name(f"{store.name}-wal")))


def _collected(path: Path) -> Opened:
    """A study that people take part in; its database is read each time something was written."""
    from vantage.collect import StudyService, opened_study

    study, _ = opened_study(path)

    def read() -> Corpus:
        service = StudyService(study)
        try:
            return service.researchers.corpus()
        finally:
            service.close()

    with_wal = sorted(study.folder.glob("*.sqlite*")) + sorted(path.parent.glob("*.sqlite*"))
    return Opened(path, read, tuple(dict.fromkeys([path, *with_wal])), study.folder)


def _joined(corpora: Sequence[tuple[str, Corpus]]) -> Corpus:
    """One corpus of several, in which a rater of two corpora is two raters."""
    times = Counter(rater for _, corpus in corpora for rater in corpus.raters["rater"])
    shared = [rater for rater, count in times.items() if count > 1]
    parts = []
    for name, corpus in corpora:
        own = pl.when(pl.col("rater").is_in(shared)).then(pl.format("{} ({})", "rater", pl.lit(name)))
        renamed = own.otherwise("rater").alias("rater")
        raters = corpus.raters.with_columns(renamed, pl.lit(name).alias(SOURCE))
        judgments = corpus.judgments.with_columns(renamed)
        parts.append(Corpus(corpus.items, raters, judgments, corpus.instruments, corpus.about))
    return parts[0].merge(*parts[1:])
