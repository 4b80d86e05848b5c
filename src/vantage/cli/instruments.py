"""`vantage instruments`: list, show and check instruments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import vantage
from vantage.cli.options import VerbGroup
from vantage.cli.output import VerbResult, listed, printable
from vantage.report.cells import counted

if TYPE_CHECKING:
    from vantage.instruments import Question

app = VerbGroup(
    "List, show and check instruments: what is asked, and on which scales. Without a command: list them.",
    no_args_is_help=False,
)


@app.alone
def list_instruments() -> VerbResult:
    """List the bundled instruments and those of plugins."""
    from vantage.instruments import PLUGINS, bundled

    known = {**{name: vantage.Instrument.load(name) for name in bundled()}, **PLUGINS.working()}
    rows = [
        {
            "instrument": name,
            "version": instrument.version,
            "title": instrument.title,
            "questions": len(instrument.questions),
            "forms": list(instrument.forms),
            "conditions": list(instrument.conditions),
        }
        for name, instrument in known.items()
    ]
    return listed(rows, hint="Read one with: vantage instruments show NAME")


@app.verb
def show(name: str) -> VerbResult:
    """Show an instrument as a rater would read it.

    Args:
        name: A bundled instrument (NAME or NAME:FORM) or an instrument file.
    """
    instrument = vantage.Instrument.load(name)
    questions = [_question_row(question) for question in instrument.questions]
    return VerbResult(questions, printable("\n".join(_lines(instrument))))


@app.verb
def check(file: Path) -> VerbResult:
    """Check an instrument file and report every problem with its line.

    Args:
        file: An instrument file.
    """
    from vantage.errors import InputError, Problems

    try:
        instrument = vantage.Instrument.load(file)
    except InputError as error:
        problems = error.problems if isinstance(error, Problems) else (str(error),)
        return VerbResult([{"problem": problem} for problem in problems], error=error)
    count = counted(len(instrument.questions), "question")
    return VerbResult([], f"{file}: {instrument.title}, version {instrument.version}, {count}, no problems")


@app.verb
def schema() -> None:
    """Print the JSON Schema of instrument files, for editors."""
    from importlib import resources

    typer.echo((resources.files("vantage.instruments") / "schema.json").read_text("utf-8"), nl=False)


def _question_row(question: Question) -> dict[str, Any]:
    scale = question.scale
    return {
        "question": question.id,
        **{name: getattr(question, name) for name in ("title", "section", "ask")},
        "ask_in": dict(question.ask_in),
        "level": scale.level,
        "options": [{"code": o.code, "label": o.label} for o in scale.options],
        "range": scale.range,
        "opt_outs": {o.status: o.label for o in scale.opt_outs},
        "bands": [band.name for band in scale.bands],
        "rationale": question.rationale,
    }


def _lines(instrument: vantage.Instrument) -> Iterator[str]:
    yield f"{instrument.title}  ({instrument.id}, version {instrument.version})\n\n{instrument.description}"
    if instrument.warning:
        yield f"\nWarning: {instrument.warning}"
    yield "\nShows: " + ", ".join(f"{field.title} ({field.name})" for field in instrument.fields)
    yield from (f"  under '{name}': {', '.join(fields)}" for name, fields in instrument.conditions.items())
    yield from (f"Parameter {name}: {default}" for name, default in instrument.parameters.items())
    yield f"\nGUIDELINES\n\n{instrument.guidelines.strip()}\n\nQUESTIONS"
    section = ""
    for question in instrument.questions:
        if question.section not in ("", section):
            section = question.section
            yield f"\n— {section} —"
        yield f"\n{question.title}  [{question.id}]\n  {question.ask}"
        yield from (f"  under '{condition}': {ask}" for condition, ask in question.ask_in.items())
        yield f"  {question.scale.describe()}"
        yield from (f"    {o.code:g}  {o.label}" for o in question.scale.options if o.label)
        yield from (f"    –  {o.label}  ({o.status})" for o in question.scale.opt_outs)
        if question.guidelines:
            yield f"  {question.guidelines.strip()}"
    if instrument.aggregates:
        yield "\nSCORES\n"
    yield from (f"  {a.id} = mean of {', '.join(a.members)}" for a in instrument.aggregates)
    if instrument.forms:
        yield "\nFORMS\n"
    yield from (f"  {instrument.id}:{name} – {len(ids)} questions" for name, ids in instrument.forms.items())
    if instrument.examples:
        yield "\nWORKED EXAMPLES"
    for example in instrument.examples:
        yield ""
        for field, content in example.item.items():
            turns = [f"{t['speaker']}: {t['text']}" for t in content] if isinstance(content, list) else [str(content)]
            yield f"  {field}: " + "\n      ".join(turns)
        for question_id, answer in example.answers.items():
            shown = answer.answer if isinstance(answer.answer, str) else f"{answer.answer:g}"
            yield f"    {question_id} → {shown}: {answer.reason}"
    if instrument.sources:
        yield "\nSources: " + "; ".join(instrument.sources)
