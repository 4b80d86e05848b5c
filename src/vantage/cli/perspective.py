"""`vantage perspective`: split a corpus by users, score predictions for them, and compare systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import vantage
from vantage.cli.options import TO, with_output
from vantage.cli.output import Output
from vantage.cli.progress import finished
from vantage.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Predict what each user says of each text: an open benchmark.")

Folder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder.")]
SplitFolder = Annotated[Path, typer.Option("--split", help="The folder that `vantage perspective split` made.")]
Resamples = Annotated[int, typer.Option(help="Resamples behind intervals; 0 for none.")]


@app.command("split")
def split(
    folder: Folder,
    out: Annotated[Path, typer.Option(*TO, help="Where the files go.")],
    question: Annotated[str | None, typer.Option(help="The question; the only one without it.")] = None,
    users: Annotated[str, typer.Option(help="named (known by traits) or unnamed.")] = "named",
    adaptation: Annotated[str, typer.Option(help="Earlier answers of test users: none, train or test.")] = "none",
    extended: Annotated[bool, typer.Option(help="Whether test texts may be in training, judged by others.")] = False,
    test_users: Annotated[float, typer.Option(help="The share of people to be tested for.")] = 0.2,
    stratify: Annotated[str | None, typer.Option(help="A trait that test users must have in proportion.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 42,
) -> None:
    """Write a split as files: training and adaptation answers, test pairs without answers, texts and users.

    For example:

    vantage perspective split FOLDER --question trust --to benchmark
    """
    from vantage.perspective.benchmark import write_split

    options: dict[str, Any] = {"question": question, "users": users, "adaptation": adaptation, "extended": extended}
    options |= {"test_users": test_users, "stratify": stratify, "seed": seed}
    typer.echo(str(write_split(vantage.Corpus.read(folder).included(), out, **options)))
    typer.echo(f"Predict the pairs of {out / 'test.csv'} and write item, rater and value to a file.", err=True)


@app.command("evaluate")
@with_output
def evaluate(
    folder: Folder,
    predictions: Annotated[Path, typer.Argument(help="A table with text, user and answer, or a corpus folder.")],
    split_folder: SplitFolder,
    output: Output,
    resamples: Resamples = 1000,
) -> None:
    """Score predictions for all pairs, the average user, the average text and each trait.

    For example:

    vantage perspective evaluate FOLDER predictions.csv --split benchmark
    """
    from vantage.perspective.benchmark import read_predictions, read_split, scored

    parts = read_split(vantage.Corpus.read(folder).included(), split_folder)
    frame = read_predictions(predictions, parts.corpus, parts.question)
    scores = scored(frame, parts, resamples=resamples, source=predictions)
    output.print(scores.summary)


@app.command("compare")
@with_output
def compare(
    folder: Folder,
    predictions: Annotated[list[str], typer.Argument(metavar="[NAME=]FILE …", help="One file per system.")],
    split_folder: SplitFolder,
    output: Output,
    out: Annotated[Path | None, typer.Option(*TO, help="Where to write the leaderboard page.")] = None,
    resamples: Resamples = 1000,
) -> None:
    """Compare systems on the same pairs, beside the majority of the training annotators; write a leaderboard page.

    For example:

    vantage perspective compare FOLDER ours=a.csv theirs=b.csv --split benchmark --to leaderboard
    """
    from vantage.perspective.benchmark import BASELINE, baseline, headline, leaderboard, read_predictions, read_split
    from vantage.perspective.benchmark import scored as score

    parts = read_split(vantage.Corpus.read(folder).included(), split_folder)
    files: dict[str, Path] = {}
    for given in predictions:
        name, equals, path = given.partition("=")
        chosen = Path(path if equals else given)
        name = name if equals else chosen.stem
        if name in files or name == BASELINE:
            raise InputError(f"two systems are called '{name}'", remedy="name them: ours=a.csv theirs=b.csv")
        files[name] = chosen
    frames = {name: read_predictions(path, parts.corpus, parts.question) for name, path in files.items()}
    systems = {name: score(frame, parts, resamples=resamples, source=files[name]) for name, frame in frames.items()}
    systems[BASELINE] = score(baseline(parts), parts, resamples=resamples)
    if out is not None:
        from vantage.report.leaderboard import leaderboard_report

        report = leaderboard_report(parts, systems)
        report.write(out)
        finished(report, out, as_json=output.json)
        return
    label = headline(parts.corpus.question(parts.question))
    output.print(leaderboard(systems, label))
