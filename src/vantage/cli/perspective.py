"""`vantage perspective`: splits, baselines, scores, submissions and leaderboards of predictions for each user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.corpora import with_disclosure
from vantage.cli.options import TO, options_of, shared, with_output
from vantage.cli.output import Output
from vantage.cli.progress import finished
from vantage.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from vantage.interop import SharedTask

app = typer.Typer(no_args_is_help=True, help="Predict what each user says of each text: an open benchmark.")

Folder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder.")]
Data = Annotated[Path, typer.Option("--data", help="The released files of LeWiDi, or a corpus folder with --split.")]
SplitFolder = Annotated[Path, typer.Option("--split", help="The folder that `vantage perspective split` made.")]
AnySplit = Annotated[Path | None, typer.Option("--split", help="A folder of `split`, where --data is a corpus.")]
Task = Annotated[str | None, typer.Option("--task", help="One data set, such as MP; all of them without it.")]
Part = Annotated[str, typer.Option(help="The released part that is predicted: test or dev.")]
Divisor = Annotated[str, typer.Option(help="Of absolute distances: points (the organisers' scorer) or steps.")]
Targets = Annotated[str, typer.Option(help="Soft labels: released (as the organisers score) or counted.")]
Corpora = Annotated[
    Path | None, typer.Option("--corpus", help="Also put predictions beside people's answers here, for `vantage view`.")
]
Resamples = Annotated[int, typer.Option(help="Resamples behind intervals; 0 for none.")]


@app.command("split")
@with_disclosure
@shared(
    "options",
    options_of(
        "perspective/splits.py",
        "split",
        only="question users adaptation extended test_users adaptation_items test_texts stratify method seed",
    ),
)
def split(
    folder: Folder,
    out: Annotated[Path, typer.Option(*TO, help="Where the files go.")],
    options: dict[str, Any],
    disclosure: dict[str, Any],
) -> None:
    """Write a split as files: training and adaptation answers, test pairs without answers, texts and users.

    For example:

    vantage perspective split FOLDER --question trust --to benchmark
    """
    from vantage.interop import write_split

    typer.echo(str(write_split(vantage.Corpus.read(folder).included(), out, **options, **disclosure)))
    typer.echo(f"Predict the pairs of {out / 'test.csv'} and write item, rater and value to a file.", err=True)


@app.command("baseline")
def baseline(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The released files of LeWiDi.")],
    out: Annotated[Path, typer.Option(*TO, help="Where the submission files go.")],
    method: Annotated[
        str, typer.Option(help="most-frequent, random, marginal, tfidf, tfidf-users, encoder, or another way to learn.")
    ] = "tfidf-users",
    task: Task = None,
    part: Part = "test",
    model: Annotated[str | None, typer.Option(help="A model to ask instead, such as openai:gpt-4o.")] = None,
    history: Annotated[int, typer.Option(min=0, help="How many of a user's answers the model is shown.")] = 0,
    scoring: Annotated[
        bool | None, typer.Option(help="Score the model's answers instead of reading a reply; by default if embedded.")
    ] = None,
    corpus: Corpora = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Predict a part of a shared task and write both submission files of each data set.

    Replies of a model are kept in OUT/runs.sqlite: run the same command again to continue.

    For example:

    vantage perspective baseline lewidi/2025 --method tfidf-users --to submission
    """
    from vantage.interop import task_baseline
    from vantage.interop.submissions import tasks

    if model is None and (history or scoring is not None):
        raise InputError("--history and --scoring are for a model", remedy="name one with --model")
    for one in tasks(data, part, only=task).values():
        if model is None:
            predictions = task_baseline(one, method, seed=seed)
        else:
            predictions = _prompted(one, model, history, model == "embedded" if scoring is None else scoring, out)
        _submitted(one, predictions, out, corpus, model or method)


def _prompted(task: SharedTask, model: str, history: int, scoring: bool, out: Path) -> pl.DataFrame:
    """What a model says of each text or, shown some of their answers, for each user: a distribution for each pair.

    For users without earlier answers the one without a user counts, and where nothing could be read, how often each
    answer was given in training; the command says for how many.
    """
    import polars as pl

    from vantage.interop import task_baseline

    out.mkdir(parents=True, exist_ok=True)
    frames = []
    for question in task.questions:
        parts = task.split(question)
        learned, pairs = parts.part("train"), parts.test.select("item", "rater")
        known = pairs.join(learned.raters, on="rater", how="semi") if history else pairs.clear()
        rest = pairs.join(known, on=["item", "rater"], how="anti", maintain_order="left")
        style = "scoring" if scoring else "zero-shot"
        answers = [_said(task, question, rest, out, model=model, style=style)] if len(rest) else []
        for (user,), mine in known.group_by("rater", maintain_order=True):
            style = f"{'scoring+' if scoring else ''}history:{history}"
            asked = {"model": model, "style": style, "user": user, "training": learned}
            answers.append(_said(task, question, mine, out, **asked))
        frames.append(pl.concat(answers).with_columns(question=pl.lit(question)))
        if history and (strangers := rest["rater"].n_unique()):
            typer.echo(f"{task.name}: {strangers} users have no earlier answers; they are judged as anybody.", err=True)
    said = pl.concat(frames)
    if unread := said["probabilities"].null_count():
        typer.echo(f"{task.name}: people's marginal stands for {unread} of {len(said)} unread answers.", err=True)
        usual = task_baseline(task, "marginal").rename({"probabilities": "usual"})
        said = said.join(usual, on=["item", "rater", "question"], how="left", maintain_order="left")
        said = said.with_columns(pl.coalesce("probabilities", "usual").alias("probabilities")).drop("usual")
    return said


def _said(task: SharedTask, question: str, pairs: pl.DataFrame, out: Path, **how: Any) -> pl.DataFrame:
    """A distribution for each pair from what a model says of its text."""
    from vantage.interop import of_texts

    whole = task.corpus
    (instrument,) = (i for i in whole.instruments if question in {q.id for q in i.questions})
    items = whole.items.join(pairs, on="item", how="semi")
    texts = vantage.Corpus(items, whole.raters, whole.judgments.clear(), whole.instruments)
    rated = vantage.rate(texts, vantage.ChatRater(**how), instrument, questions=[question], store=out / "runs.sqlite")
    shares = of_texts(rated.judgments, whole.question(question))
    return pairs.join(shares, on="item", how="left", maintain_order="left")


def _submitted(task: SharedTask, predictions: pl.DataFrame, out: Path, corpus: Path | None, name: str) -> None:
    """Writes the two files of a task and, where it is asked for, the predictions into a corpus."""
    from vantage.interop import with_predictions, write_submission

    for path in write_submission(task, predictions, out):
        typer.echo(str(path))
    if corpus is not None:
        people = task.corpus.filter(item=[*task.annotators], question=list(task.questions))
        stored = with_predictions(people, predictions, name, task.questions[0])
        typer.echo(str(stored.write(corpus / task.name)))


@app.command("submit")
def submit(
    predictions: Annotated[Path, typer.Argument(help="A table: item, rater and value or probabilities; or a corpus.")],
    data: Data,
    out: Annotated[Path, typer.Option(*TO, help="Where the submission files go.")],
    task: Task = None,
    part: Part = "test",
    corpus: Corpora = None,
) -> None:
    """Write predictions as the two submission files of a data set, and check them.

    For example:

    vantage perspective submit predictions.csv --data lewidi/2025 --task MP --to submission
    """
    from vantage.interop import read_predictions
    from vantage.interop.submissions import tasks

    chosen = tasks(data, part, only=task)
    if len(chosen) > 1:
        raise InputError("the folder has several data sets", remedy=f"name one: --task {' or '.join(chosen)}")
    (one,) = chosen.values()
    _submitted(one, read_predictions(predictions, one.corpus, one.questions[0]), out, corpus, predictions.stem)


@app.command("score")
@with_output
def score(
    predictions: Annotated[Path, typer.Argument(metavar="FOLDER", help="Submission files, or a table of predictions.")],
    data: Data,
    output: Output,
    split_folder: AnySplit = None,
    task: Task = None,
    part: Part = "test",
    divisor: Divisor = "points",
    targets: Targets = "released",
    proper: Annotated[bool, typer.Option("--proper", help="Proper scores of distributions too.")] = False,
) -> None:
    """Score predictions as the organisers do, with intervals over texts and people, floor, ceiling and skill.

    For example:

    vantage perspective score submission --data lewidi/2025
    """
    import polars as pl

    from vantage.interop import read_system
    from vantage.interop.submissions import tasks

    chosen = tasks(data, part, split=split_folder, only=task)
    predicted, notes = read_system(predictions, chosen)
    if proper and "soft" in predicted:
        predicted["proper"] = predicted["soft"]
    how: dict[str, Any] = {"divisor": _one_of(divisor, "points", "steps")}
    how["targets"] = _one_of(targets, "released", "counted")
    frames = [
        chosen[name].score(frame, evaluation, **how)
        for evaluation, of_tasks in predicted.items()
        for name, frame in of_tasks.items()
    ]
    output.print(pl.concat(frames))
    for note in notes:
        typer.echo(note, err=True)


@app.command("evaluate")
@with_output
def evaluate(
    folder: Folder,
    predictions: Annotated[Path, typer.Argument(help="A table with text, user and answer, or a corpus folder.")],
    split_folder: SplitFolder,
    output: Output,
    resamples: Resamples = 1000,
) -> None:
    """Score predictions by F1 for all pairs, the average user, the average text and each trait.

    For example:

    vantage perspective evaluate FOLDER predictions.csv --split benchmark
    """
    from vantage.interop import read_predictions, read_split, scored

    parts = read_split(vantage.Corpus.read(folder).included(), split_folder)
    frame = read_predictions(predictions, parts.corpus, parts.question)
    scores = scored(frame, parts, resamples=resamples, source=predictions)
    output.print(scores.summary)


@app.command("leaderboard")
@with_output
def leaderboard(
    predictions: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FOLDER …", help="Submissions or tables, one each.")
    ],
    data: Data,
    output: Output,
    split_folder: AnySplit = None,
    task: Task = None,
    part: Part = "test",
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the leaderboard page.")] = None,
) -> None:
    """Rank systems by skill on the same texts and people, with ties; write a leaderboard page.

    For example:

    vantage perspective leaderboard ours=submission theirs=other --data lewidi/2025 --to leaderboard
    """
    import polars as pl

    from vantage.interop import read_system
    from vantage.interop.submissions import tasks
    from vantage.perspective.scoring import TaskAnswers
    from vantage.report.leaderboard import leaderboard as ranked
    from vantage.report.leaderboard import leaderboard_report

    chosen = tasks(data, part, split=split_folder, only=task)
    systems: dict[str, dict[str, dict[str, TaskAnswers]]] = {}
    for given in predictions:
        name, equals, path = given.partition("=")
        source = Path(path if equals else given)
        name = name if equals else source.stem
        predicted, notes = read_system(source, chosen)
        for note in notes:
            typer.echo(f"{name}: {note}", err=True)
        for evaluation, of_tasks in predicted.items():
            mine = systems.setdefault(evaluation, {})
            if name in mine:
                raise InputError(f"two systems are called '{name}'", remedy="name them: ours=a theirs=b")
            mine[name] = {one: chosen[one].answered(frame) for one, frame in of_tasks.items()}
    if out is not None:
        report = leaderboard_report(chosen, systems)
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    output.print(pl.concat(ranked(one, evaluation)[0] for evaluation, one in systems.items()))


def _one_of(value: str, *known: str) -> str:
    if value not in known:
        raise InputError(f"'{value}' is not known", remedy=f"use {' or '.join(known)}")
    return value
