"""Running a study: from its options to a folder with everything in it, also when it is cut off."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vantage.errors import InputError, VantageError
from vantage.report.folder import Report, check, is_report, read_manifest
from vantage.report.overview import overview
from vantage.report.parts import Result
from vantage.report.record import Record, now, versions
from vantage.studies.base import Study, find
from vantage.studies.execution import STORE, Context, Progress, stored_calls

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.runs.options import RunOptions

C = TypeVar("C", bound=Context[Any])
_IDENTITY: Final = ("study", "data", "models", "seed")
"""What makes a run another one, besides the options of its study."""


def run(
    study: str | Study[Any],
    *,
    out: str | Path | None = None,
    data: str | Path | None = None,
    models: Sequence[str] = (),
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    carried: RunOptions | None = None,
    **options: object,
) -> Report:
    """Runs a study and leaves everything in a folder.

    A second run on the same folder resumes the first one; with other options it is refused.

    Args:
        study: Its name, or a study object of your own.
        out: The folder; without it nothing is written.
        data: The published data or corpus folder that the study reads.
        models: The models that are asked, such as `embedded` or `openai:NAME`.
        seed: Random seed.
        settings: Settings of the models, such as `base_url`; never keys.
        progress: What shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures (`vantage.runs.RunOptions`).
        options: The options of the study.

    Returns:
        The report: `report.result.findings`, `report.result.tables`, `report.record` and so on.
    """
    chosen, context = prepared(
        study, Context, data=data, models=models, seed=seed, settings=settings, carried=carried, options=options
    )
    context.progress = progress
    record, folder = context.record, None if out is None else Path(out)
    context.folder = folder
    if folder is not None:
        check(folder)
        if is_report(folder):
            _continues(folder, record)
        Report(record, Result([])).note(folder)
    try:
        report, corpus = _finish(chosen, context)
        if folder is not None:
            corpus.write(folder / "corpus")
            report.write(folder)
    except BaseException as error:
        if folder is not None:
            _leave(folder, context, error)
        raise
    return report


def prepared(
    study: str | Study[Any],
    kind: Callable[..., C],
    *,
    data: str | Path | None,
    models: Sequence[str],
    seed: int,
    settings: Mapping[str, Any] | None,
    carried: RunOptions | None,
    options: Mapping[str, Any],
) -> tuple[Study[Any], C]:
    """The study and the context that it is run with, once data and options are found to be there."""
    chosen = find(study) if isinstance(study, str) else study
    if chosen.needs_data and data is None:
        raise InputError(f"study '{chosen.name}' needs data", remedy=f"pass --data; {chosen.needs_data}")
    if data is not None and not Path(data).exists():
        raise InputError("there is no such file or folder", file=data, remedy="check --data")
    used = tuple(models) or chosen.default_models
    values = chosen.options(**options)
    record = Record(
        study=chosen.name,
        title=chosen.title,
        questions=list(chosen.questions),
        started=now(),
        data="" if data is None else str(data),
        models=list(used),
        seed=seed,
        # As `study.json` will hold them.
        options=json.loads(json.dumps(dataclasses.asdict(values), default=str)),
        versions=versions(chosen.libraries),
    )
    return chosen, kind(
        options=values,
        record=record,
        data=None if data is None else Path(data),
        models=used,
        seed=seed,
        settings=settings or {},
        carried=carried,
    )


def redraw(folder: str | Path) -> Report:
    """Draws the report of a study folder again from what is stored; nothing is asked and nothing is measured anew.

    Of a run that was cut off, the report shows the judgments that are there and says what is missing.
    """
    folder = Path(folder)
    report = Report.read(folder)
    if report.record.state != "complete":
        report = _partial(folder, report.record)
    report.write(folder)
    return report


def _leave(folder: Path, context: Context[Any], error: BaseException) -> None:
    """Leaves a folder from which a report can say how far the run has come."""
    record = context.record
    record.state, record.finished, record.reason = "interrupted", now(), _reason(error)
    if context.reached is not None:
        context.reached.write(folder / "corpus")
        record.describe(context.reached, folder, context.data)
    Report(record, Result([])).note(folder)


def _finish(study: Study[Any], context: Context[Any]) -> tuple[Report, Corpus]:
    corpus = study.collect(context)
    context.record.describe(corpus, context.folder, context.data)
    with context.step("measuring"):
        result = study.analyse(corpus, context)
    if context.warnings:
        result = dataclasses.replace(result, warnings=list(dict.fromkeys([*context.warnings, *result.warnings])))
    record = context.record
    record.state, record.finished = "complete", now()
    return Report(record, result), corpus


def _partial(folder: Path, record: Record) -> Report:
    """What can be shown of a run that was cut off: the judgments that were stored."""
    from vantage.corpora import Corpus
    from vantage.corpora.storage import is_corpus

    result = Result([])
    if is_corpus(folder / "corpus"):
        corpus = Corpus.read(folder / "corpus")
        record.describe(corpus, folder)
        result = overview(corpus, seed=record.seed)
    record.missing = [
        f"{rater}: {have:,} of {planned:,} planned judgments are there."
        for rater, (have, planned) in record.unfinished.items()
    ]
    if calls := stored_calls(folder):
        record.missing.append(f"{calls:,} finished calls are stored in {STORE} and will not be made again.")
    record.missing.append("The study's own tables and figures are missing; they are written once all of it is done.")
    return Report(record, result)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted by hand"
    return str(error) if isinstance(error, VantageError) else f"{type(error).__name__}: {error}"


def _continues(folder: Path, record: Record) -> None:
    """Refuses a folder in which another study, or the same with other options, was run."""
    old, new = read_manifest(folder)["record"], record.to_data()
    before, after = ({part: one.get(part) for part in _IDENTITY} | one.get("options", {}) for one in (old, new))
    for part in dict.fromkeys([*before, *after]):
        if before.get(part) != after.get(part):
            raise InputError(
                f"the folder holds a run with {part} {_word(before.get(part))}, not {_word(after.get(part))}",
                file=folder,
                remedy="choose another folder, or the same options to go on with it",
            )


def _word(value: object) -> str:
    return "unset" if value in (None, "", []) else f"'{value}'"
