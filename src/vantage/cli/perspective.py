"""`vantage perspective`: splits, baselines, scores, submissions and leaderboards of predictions for each user."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import vantage
from vantage import interop
from vantage.cli.corpora import Disclosure
from vantage.cli.options import Values, VerbGroup, options_of
from vantage.cli.output import VerbTable
from vantage.cli.progress import reported
from vantage.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    Tasks = dict[str, interop.SharedTask]

app = VerbGroup("Predict each user's judgment of each text: an open benchmark.")


def _chosen(*, data: Path, split: Path | None = None, task: str | None = None, part: str = "test") -> Tasks:
    """Tasks of LeWiDi, or that of a corpus.

    Args:
        data: The released files of LeWiDi, or a corpus folder with --split.
        split: A folder that `split` wrote, if --data is a corpus.
    """
    from vantage.interop.submissions import tasks

    return tasks(data, part, split=split, only=task)


Chosen = Annotated["Tasks", _chosen]


@app.verb
def split(
    corpus: Path,
    *,
    to: Path,
    options: Annotated[
        Values,
        options_of(
            "perspective/splits.py",
            "split",
            only="question users adaptation extended test_users adaptation_items test_texts stratify method seed",
        ),
    ],
    disclosure: Disclosure,
) -> None:
    """Write a split as files: training and adaptation answers, test pairs without answers, texts and users.

    For example:

    vantage perspective split FOLDER --question trust --to benchmark
    """
    typer.echo(str(interop.write_split(vantage.Corpus.read(corpus).included(), to, **options, **disclosure)))
    typer.echo(f"Predict the pairs of {to / 'test.csv'} and write item, rater and value to a file.", err=True)


@app.verb
def baseline(
    data: Path,
    *,
    to: Path,
    method: str = "tfidf-users",
    task: str | None = None,
    part: str = "test",
    model: str | None = None,
    history: Annotated[int, typer.Option(min=0)] = 0,
    scoring: bool | None = None,
    corpus: Path | None = None,
    seed: int = 0,
) -> None:
    """Predict a part of a shared task and write both submission files of each data set.

    A model's replies are stored in TO/runs.sqlite: run the same command again to resume.

    For example:

    vantage perspective baseline lewidi/2025 --method tfidf-users --to submission

    Args:
        data: The released files of LeWiDi.
        method: most-frequent, random, marginal, tfidf, tfidf-users, encoder, or another way to learn.
        model: Ask this model instead, such as openai:gpt-4o.
        history: How many of a user's earlier answers to show the model.
        scoring: Score the answer options instead of reading a reply (default for embedded).
        corpus: Also write a corpus with people's answers and the predictions here, for `vantage view`.
    """
    if model is None and (history or scoring is not None):
        raise InputError("--history and --scoring are for a model", remedy="name one with --model")
    for one in _chosen(data=data, task=task, part=part).values():
        if model is None:
            predictions = interop.task_baseline(one, method, seed=seed)
        else:
            scored = model == "embedded" if scoring is None else scoring
            predictions, notes = _prompted(one, model, history, to / "runs.sqlite", scoring=scored)
            _notes(notes)
        _submitted(one, predictions, to, corpus, model or method)


def _prompted(
    task: interop.SharedTask, model: str, history: int, store: Path, *, scoring: bool
) -> tuple[pl.DataFrame, list[str]]:
    """A distribution for each pair from what a model says of each text or, shown some of their answers, for each user.

    For users without earlier answers, the model is asked without a history; unreadable replies are replaced by how
    often each answer was given in training. The notes say how many there were of both.
    """
    import polars as pl

    whole, frames, notes = task.corpus, [], []
    store.parent.mkdir(parents=True, exist_ok=True)
    for question in task.questions:
        parts = task.split(question)
        learned, pairs = parts.part("train"), parts.test.select("item", "rater")
        known = pairs.join(learned.raters, on="rater", how="semi") if history else pairs.clear()
        rest = pairs.join(known, on=["item", "rater"], how="anti", maintain_order="left")
        shown = {"style": f"{'scoring+' if scoring else ''}history:{history}", "training": learned}
        asked: list[tuple[pl.DataFrame, dict[str, Any]]] = [(rest, {"style": "scoring" if scoring else "zero-shot"})]
        asked += [(mine, {**shown, "user": user}) for (user,), mine in known.group_by("rater", maintain_order=True)]
        (instrument,) = (i for i in whole.instruments if question in {q.id for q in i.questions})
        for mine, how in (one for one in asked if len(one[0])):
            items = whole.items.join(mine, on="item", how="semi")
            texts = vantage.Corpus(items, whole.raters, whole.judgments.clear(), whole.instruments)
            rater = vantage.ChatRater(model, **how)
            rated = vantage.rate(texts, rater, instrument, questions=[question], store=store)
            shares = interop.of_texts(rated.judgments, whole.question(question))
            said = mine.join(shares, on="item", how="left", maintain_order="left")
            frames.append(said.with_columns(question=pl.lit(question)))
        if history and (strangers := rest["rater"].n_unique()):
            problem = f"{strangers} users have no earlier answers; the model is asked without a history"
            notes.append(f"{task.name}: {problem}.")
    said = pl.concat(frames)
    if unread := said["probabilities"].null_count():
        problem = f"{unread} of {len(said)} replies could not be read; the shares of answers in training replace them"
        notes.append(f"{task.name}: {problem}.")
        usual = interop.task_baseline(task, "marginal").rename({"probabilities": "usual"})
        said = said.join(usual, on=["item", "rater", "question"], how="left", maintain_order="left")
        said = said.with_columns(pl.coalesce("probabilities", "usual").alias("probabilities")).drop("usual")
    return said, notes


def _submitted(task: interop.SharedTask, predictions: pl.DataFrame, to: Path, corpus: Path | None, name: str) -> None:
    """Writes the two files of a task and, where it is asked for, the predictions into a corpus."""
    for path in interop.write_submission(task, predictions, to):
        typer.echo(str(path))
    if corpus is not None:
        people = task.corpus.filter(item=[*task.annotators], question=list(task.questions))
        stored = interop.with_predictions(people, predictions, name, task.questions[0])
        typer.echo(str(stored.write(corpus / task.name)))


@app.verb
def submit(predictions: Path, *, chosen: Chosen, to: Path, corpus: Path | None = None) -> None:
    """Write predictions as the two submission files of a data set, and check them.

    For example:

    vantage perspective submit predictions.csv --data lewidi/2025 --task MP --to submission

    Args:
        predictions: A table: item, rater and value or probabilities; or a corpus.
        corpus: Also write a corpus with people's answers and the predictions here, for `vantage view`.
    """
    if len(chosen) > 1:
        raise InputError("the folder has several data sets", remedy=f"name one: --task {' or '.join(chosen)}")
    (one,) = chosen.values()
    _submitted(one, interop.read_predictions(predictions, one.corpus, one.questions[0]), to, corpus, predictions.stem)


@app.verb
def score(
    folder: Path,
    *,
    chosen: Chosen,
    divisor: Literal["points", "steps"] = "points",
    targets: Literal["released", "counted"] = "released",
    proper: bool = False,
) -> VerbTable:
    """Score predictions as the organisers do, with intervals over texts and people, floor, ceiling and skill.

    For example:

    vantage perspective score submission --data lewidi/2025

    Args:
        folder: Submission files, or a table of predictions.
        divisor: What absolute distances are divided by: points (as the organisers do) or steps.
        targets: Soft labels: released (as the organisers score) or counted.
        proper: Add proper scores of distributions.
    """
    import polars as pl

    predicted, notes = interop.read_system(folder, chosen)
    _notes(notes)
    if proper and "soft" in predicted:
        predicted["proper"] = predicted["soft"]
    frames = [
        chosen[name].score(frame, evaluation, divisor=divisor, targets=targets)
        for evaluation, of_tasks in predicted.items()
        for name, frame in of_tasks.items()
    ]
    return VerbTable(pl.concat(frames))


@app.verb
def evaluate(corpus: Path, predictions: Path, *, split: Path, resamples: int = 1000) -> VerbTable:
    """Score predictions by F1 for all pairs, the average user, the average text and each trait.

    For example:

    vantage perspective evaluate FOLDER predictions.csv --split benchmark

    Args:
        predictions: A table with text, user and answer, or a corpus folder.
        split: The folder that `vantage perspective split` made.
        resamples: Number of resamples for intervals; 0 for none.
    """
    parts = interop.read_split(vantage.Corpus.read(corpus).included(), split)
    frame = interop.read_predictions(predictions, parts.corpus, parts.question)
    return VerbTable(interop.scored(frame, parts, resamples=resamples, source=predictions).summary)


@app.verb
def leaderboard(predictions: list[str], *, chosen: Chosen, to: Path | None = None) -> VerbTable:
    """Rank systems by skill on the same texts and people, with ties; write a leaderboard page.

    For example:

    vantage perspective leaderboard ours=submission theirs=other --data lewidi/2025 --to leaderboard

    Args:
        predictions ([NAME=]FOLDER …): Submissions or tables, one per system.
        to: Where to write the leaderboard page.
    """
    import polars as pl

    from vantage.perspective.scoring import TaskAnswers
    from vantage.report.leaderboard import leaderboard as ranked
    from vantage.report.leaderboard import leaderboard_report

    systems: dict[str, dict[str, dict[str, TaskAnswers]]] = {}
    for given in predictions:
        name, equals, path = given.partition("=")
        source = Path(path if equals else given)
        name = name if equals else source.stem
        predicted, notes = interop.read_system(source, chosen)
        _notes(f"{name}: {note}" for note in notes)
        for evaluation, of_tasks in predicted.items():
            mine = systems.setdefault(evaluation, {})
            if name in mine:
                raise InputError(f"two systems are called '{name}'", remedy="name them: ours=a theirs=b")
            mine[name] = {one: chosen[one].answered(frame) for one, frame in of_tasks.items()}
    frame = pl.concat(ranked(one, evaluation)[0] for evaluation, one in systems.items())
    if to is None:
        return VerbTable(frame)
    report = leaderboard_report(chosen, systems)
    report.write(to)
    page = reported(report, to)
    return VerbTable(frame, *page.shown, data=page.data)


def _notes(notes: Iterable[str]) -> None:
    for note in notes:
        typer.echo(note, err=True)
