"""Running a study: from its options to a folder with everything in it, also when it is cut off; or an estimate only."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vantage.corpora import Corpus
from vantage.corpora.disclosure import hidden, shown
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, VantageError
from vantage.raters.models import nothing_sent
from vantage.report.cells import counted
from vantage.report.folder import Report, alone, check, is_report, read_manifest
from vantage.report.overview import overview
from vantage.report.parts import Result
from vantage.report.record import Record, now, versions
from vantage.runs.forecast import Forecast
from vantage.runs.options import RunOptions
from vantage.studies.base import Study, find
from vantage.studies.execution import STORE, Context, Progress, stored_calls

UNTRAINED: Final = "How long raters take to be trained is not estimated."


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
    """Runs a study and gives its report, which `out` keeps with everything else.

    A second run on the same folder resumes the first one; with other options it is refused.

    Args:
        study: Its name, or a study object of your own.
        out: The folder; without it nothing is written.
        data: The published data or corpus folder that the study reads.
        models: The models to ask, such as `embedded` or `openai:NAME`.
        seed: Random seed.
        settings: Settings of the models, such as `base_url`; never keys.
        progress: Shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures (`vantage.runs.RunOptions`).
        options: The options of the study.
    """
    folder = None if out is None else Path(out)
    how = {"seed": seed, "settings": settings or {}, "carried": carried, "progress": progress, "folder": folder}
    chosen, context = _prepared(study, data, models, options, **how)
    record = context.record
    if folder is None:
        return _finished(chosen, context)
    check(folder)
    with alone(folder):
        if is_report(folder):
            _continues(folder, record)
        Report(record, Result([])).note(folder)
        try:
            report = _finished(chosen, context)
            report.write(folder)
        except BaseException as error:
            # The folder says how far the run has come.
            record.state, record.finished, record.reason = "interrupted", now(), _reason(error)
            if context.reached is not None:
                context.reached.write(folder / "corpus")
                record.describe(context.reached)
            Report(record, Result([])).note(folder)
            raise
    return report


@dataclass(frozen=True)
class Preview:
    """What a study will take.

    Args:
        forecast: Calls, tokens, cost and time.
        trained: The raters that it would train, and what each learns from; not counted in the time.
        notes: What the numbers rest on, and warnings.
    """

    study: str
    forecast: Forecast
    trained: Mapping[str, str]
    notes: tuple[str, ...]


def preview(
    study: str | Study[Any],
    *,
    out: str | Path | None = None,
    data: str | Path | None = None,
    models: Sequence[str] = (),
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    carried: RunOptions | None = None,
    **options: object,
) -> Preview:
    """Counts the most that `vantage.studies.run` with these arguments asks; nothing is sent, trained or written."""
    forecast = Forecast(carried)
    how = {"seed": seed, "settings": settings or {}, "carried": carried, "forecast": forecast}
    chosen, context = _prepared(study, data, models, options, **how)
    with nothing_sent(f"study '{chosen.name}' asks a model without context.rate, so its calls cannot be estimated"):
        try:
            chosen.collect(context)
        except VantageError:
            raise
        except Exception as error:
            raise InputError(
                f"study '{chosen.name}' cannot be estimated, since it collects only with existing replies "
                f"({type(error).__name__}: {error})",
                remedy="see docs/studies.md on how collect is called",
            ) from error
    notes = [*forecast.notes, *([UNTRAINED] if context.trained else []), *context.warnings]
    if out is not None and (Path(out) / STORE).is_file():
        notes.append(f"Calls whose replies are stored in {Path(out) / STORE} will not be made again.")
    return Preview(chosen.name, forecast, context.trained, tuple(notes))


def _prepared(
    study: str | Study[Any], data: str | Path | None, models: Sequence[str], options: Mapping[str, Any], **how: Any
) -> tuple[Study[Any], Context[Any]]:
    """The study and its context, after a check of data and options."""
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
        seed=how["seed"],
        # As `study.json` will hold them.
        options=json.loads(json.dumps(dataclasses.asdict(values), default=str)),
        versions=versions(chosen.libraries),
    )
    return chosen, Context(values, record, data=None if data is None else Path(data), models=used, **how)


def stored_report(folder: str | Path) -> Report:
    """The report of a study folder again from what is stored; of an interrupted run, of the judgments so far."""
    folder = Path(folder)
    report = Report.read(folder)
    record = report.record
    if record.state != "complete":
        result = Result([])
        if is_corpus(folder / "corpus"):
            corpus = Corpus.read(folder / "corpus")
            record.describe(corpus)
            result = overview(corpus, seed=record.seed)
        record.missing = [
            f"{rater}: {have:,} of {planned:,} planned judgments are there."
            for rater, (have, planned) in record.unfinished.items()
        ]
        if calls := stored_calls(folder):
            record.missing.append(f"{calls:,} finished calls are stored in {STORE} and will not be made again.")
        lost = "The study's own tables and figures are missing; they are written once all of it is done."
        record.missing.append(lost)
        report = Report(record, result)
    return report


def _finished(study: Study[Any], context: Context[Any]) -> Report:
    """Collects and analyses, and writes the corpus."""
    corpus = study.collect(context)
    context.record.describe(corpus)
    with context.step("measuring"):
        if len(gone := hidden(corpus)):
            context.warn(
                f"The words of {counted(len(gone), 'item')} are not shown, and what reads texts has not read them."
            )
        result = study.analyse(shown(corpus), context)
    if context.warnings:
        result = dataclasses.replace(result, warnings=list(dict.fromkeys([*context.warnings, *result.warnings])))
    context.record.state, context.record.finished = "complete", now()
    if context.folder is not None:
        corpus.write(context.folder / "corpus")
    return Report(context.record, result)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted by hand"
    return str(error) if isinstance(error, VantageError) else f"{type(error).__name__}: {error}"


def _continues(folder: Path, record: Record) -> None:
    """Refuses the folder of another study or of other options."""
    old, new = read_manifest(folder)["record"], record.to_data()
    same = ("study", "data", "models", "seed")
    before, after = ({part: one.get(part) for part in same} | one.get("options", {}) for one in (old, new))
    for part in dict.fromkeys([*before, *after]):
        if before.get(part) != after.get(part):
            raise InputError(
                f"the folder holds a run with {part} {_word(before.get(part))}, not {_word(after.get(part))}",
                file=folder,
                remedy="choose another folder, or the same options to continue it",
            )


def _word(value: object) -> str:
    return "unset" if value in (None, "", []) else f"'{value}'"
