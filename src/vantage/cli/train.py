"""`vantage train`: learn a rater from people's judgments and keep it; `vantage judge`: let it judge texts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import vantage
from vantage.cli.corpora import TextColumns, TextsOrFolder, conditions, texts_or_corpus
from vantage.cli.options import TO, names, number, options_of, pairs, shared
from vantage.cli.output import Json, print_json, print_rows, printable
from vantage.errors import InputError

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.raters.trained.rater import TrainedRater


UNLIKE = "unlike_training"
"""The column that says whether a text is unlike those that a rater learned from."""
CUT = 60
"""How much of a text the table on the terminal shows; the file has all of it."""


_fitting = options_of(
    "raters/trained/fitting.py",
    "fit",
    only="kind target coarse raters name seed checkpoints",
    flags={"coarse": "--coarse"},
)


@shared("options", _fitting)
def train(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A corpus folder.")],
    options: dict[str, Any],
    question: Annotated[
        str | None, typer.Option("--question", metavar="ID,…", help="Which questions to learn (default: all).")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The encoder (minilm, a folder, or a name on the hub such as hf:vinai/bertweet-base), or the "
            "language model that is probed (embedded, hf:NAME); minilm and embedded without it.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="COLUMN=VALUE[,VALUE]", help="Learn from these items, such as split=train."),
    ] = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE[,VALUE]", help="Stop and choose on these items, such as split=validation."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE[,VALUE]", help="Judge these items, such as split=test (default: all)."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the training, such as epochs=3 or loss=huber."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the rater in this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a saved rater.")] = False,
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Learn a rater from people's judgments and add what it says about items to the corpus.

    No text may stand on two sides of a split. Without --validation, texts are held out in turn.
    """
    from vantage.raters.trained.baselines import BASELINES

    if folder.is_file():
        raise InputError(
            "a file of texts has no judgments to learn from",
            file=folder,
            remedy="use a saved rater with: vantage judge FILE --rater FOLDER, or import the table with its judgments",
        )
    whole = vantage.Corpus.read(folder)
    kind, raters = options.setdefault("kind", "encoder"), options.get("raters", [])
    options |= settings(setting)
    for option, given, without in (
        ("--checkpoints", options.get("checkpoints"), ("ridge", "logistic", *BASELINES)),
        ("--validation", validation, ("probe", "vectors", *BASELINES)),
    ):
        if given and kind in without:
            raise InputError(f"{option} has no effect with --kind {kind}", remedy="leave it out")
    if model is not None:
        options["model"] = model
    part = whole.filter(**conditions(judge)) if judge else whole
    rater = _fitted(whole, on, validation, part if judge else None, names(question), options)
    if on and judge:
        rater.about["tested"] = _tested(rater, part, raters)
    if save is not None:
        rater.save(save, overwrite=overwrite)
    _tell(rater, _added(rater, whole, part, to or folder), save, to or folder, as_json=as_json)


def judge(
    texts: TextsOrFolder,
    rater: Annotated[Path, typer.Option(help="The folder of a rater that `vantage train --save` kept.")],
    to: Annotated[
        Path | None,
        typer.Option(
            *TO,
            metavar="FILE.csv|FOLDER",
            help="Where to write: a CSV file with a row per text, or a corpus folder with the judgments. Without it a "
            "file of texts gives NAME-judged.csv, and a corpus folder is changed.",
        ),
    ] = None,
    mapping: TextColumns = None,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="COLUMN=VALUE[,VALUE]", help="Judge these items only, such as split=test."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a trained rater judge texts: each answer with its mean and an 80 % range.

    The range is that of people's answers, or of their mean for raters that learned means.
    FOLDER is a file with one text per row (and the columns the rater needs, such as target), or a corpus.
    """
    import polars as pl

    from vantage.corpora.readers import load
    from vantage.corpora.writers.cells import csv_text
    from vantage.raters.trained.rater import TrainedRater
    from vantage.report.cells import shortened

    trained = TrainedRater.load(rater)
    as_table = to.suffix == ".csv" if to is not None else texts.is_file()
    if texts.is_file():
        folder, whole = to or Path(), load("texts", texts, map=_every_column(texts, trained, mapping))
    else:
        folder, whole = texts_or_corpus(texts, None, None, mapping, write=False)
    part = whole.filter(**conditions(on)) if on else whole
    if not as_table:
        _tell(trained, _added(trained, whole, part, to or folder), None, to or folder, as_json=as_json)
        return
    table = trained.table(part).with_columns(pl.Series(UNLIKE, trained.unlike(part)))
    place = to or texts.with_name(f"{texts.name.split('.')[0]}-judged.csv")
    place.write_text(csv_text(table), "utf-8", newline="")
    if as_json:
        print_json({"rater": trained.id, "texts": len(table), "file": str(place)})
        return
    shown = table.head(5).with_columns(pl.col(pl.String).map_elements(partial(shortened, most=CUT), pl.String))
    print_rows(shown.to_dicts())
    if len(table) > 5:
        typer.echo(f"… and {len(table) - 5:,} more")
    _say_quality(trained, _seen(trained, part))
    typer.echo(f"Wrote {place}")


def _every_column(file: Path, rater: TrainedRater, mapping: list[str] | None) -> dict[str, str]:
    """Every column of a file of texts under its own name, those mapped under theirs."""
    from vantage.corpora.readers.files import read_table

    given = pairs(mapping or [], "--map")
    columns = [column for column in read_table(file).frame.columns if column not in given.values()]
    questions = [question.id for question in rater.questions]
    for column in columns:
        if column.removesuffix("_mean").removesuffix("_low").removesuffix("_high") in [*questions, UNLIKE]:
            raise InputError(
                f"the file has a column '{column}' already", file=file, column=column, remedy="rename it in the file"
            )
    return given | {column: column for column in columns if column not in given}


def _added(rater: TrainedRater, whole: Corpus, part: Corpus, to: Path) -> tuple[int, list[str]]:
    """Writes the corpus with the rater's judgments; how many there are, and what is to be known of them."""
    kept = rater.without_namesake(whole)
    judged, notes = rater.rate(kept, part), _seen(rater, part)
    judged.write(to)
    if replaced := whole.judgments.height - kept.judgments.height:
        notes.append(f"{replaced:,} judgments of a rater of this name that had learned otherwise were replaced.")
    return judged.judgments.height - kept.judgments.height, notes


def _seen(rater: TrainedRater, part: Corpus) -> list[str]:
    """Says how many of the items a rater learned from, and how many are unlike those."""
    notes = []
    if seen := rater.seen(part):
        notes.append(
            f"{seen:,} of the {len(part.items):,} items judged have texts that it learned from, where it does better "
            "than on new ones; to see how well it does, choose items with --on and others with --judge."
        )
    if strange := sum(rater.unlike(part)):
        notes.append(
            f"{strange:,} of the {len(part.items):,} texts have more new words than those that it learned from, as in "
            "another language or about another subject: neither answers nor ranges may hold for them."
        )
    return notes


def _tested(rater: TrainedRater, part: Corpus, raters: list[str]) -> dict[str, Any]:
    """How the rater does on judged items that it did not learn from, by question."""
    import polars as pl

    from vantage.measures.scoring.accuracy import accuracy
    from vantage.raters.trained.examples import answers_of

    table, answers = rater.table(part), answers_of(part, raters)
    tested = {}
    for question in rater.questions:
        given = answers.filter(question=question.id)
        if given.is_empty() or f"{question.id}_mean" not in table.columns:
            continue
        means = given.group_by("item").agg(pl.col("value").mean(), pl.lit(question.id).alias("question"))
        said = table.select("item", pl.lit(question.id).alias("question"), pl.col(f"{question.id}_mean").alias("value"))
        ranks = accuracy(said.with_columns(rater=pl.lit(rater.id)), reference=means, metric=["spearman"]).row(
            0, named=True
        )
        values = given if rater.predicts_people else means
        ends = values.join(table.select("item", f"{question.id}_low", f"{question.id}_high"), on="item")
        inside = ends["value"].is_between(ends[f"{question.id}_low"], ends[f"{question.id}_high"]).mean()
        ranks = {name: ranks[name] for name in ("estimate", "low", "high")}
        whose = f"the answers of {', '.join(raters)}" if raters else "people's means"
        tested[question.id] = {"items": len(means), "inside": inside, "spearman": ranks, "whose": whose}
    return tested


def _say_quality(rater: TrainedRater, notes: list[str]) -> None:
    """How well the rater did on texts that it had not seen, and what else is to be known."""
    for question, score in rater.about.get("validation", {}).get("held_out", {}).items():
        typer.echo(
            f"held-out texts, {printable(question)}: {score:.3f} (rank correlation, or macro F1 of a nominal scale)"
        )
    for question, row in rater.about.get("tested", {}).items():
        estimate, low, high = (row["spearman"][name] for name in ("estimate", "low", "high"))
        ranks = "no rank correlation" if estimate is None else f"Spearman {estimate:.2f}"
        ranks += "" if low is None else f" [{low:.2f}, {high:.2f}]"
        what = "single answers" if rater.predicts_people else "these"
        inside = f"{row['inside']:.0%} of {what} lie in the range"
        whose = printable(row["whose"])
        typer.echo(f"{row['items']:,} unseen items, {printable(question)}: {ranks} with {whose}; {inside}")
    for note in [*rater.notes, *notes]:
        typer.echo(f"• {printable(note)}")


def settings(words: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` words as settings; numbers, yes and no, and pairs such as 1-3 are read as such.

    >>> settings(["epochs=3", "rate=1e-4", "class_weights=yes", "words=1-3", "characters=none", "loss=huber"])
    {'epochs': 3, 'rate': 0.0001, 'class_weights': True, 'words': (1, 3), 'characters': None, 'loss': 'huber'}
    """
    return {key: _value(text) for key, text in pairs(words or [], "--setting").items()}


def _value(text: str) -> Any:
    plain = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    low, dash, high = text.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return int(low), int(high)
    return number(text)


def _fitted(
    whole: Corpus,
    on: list[str] | None,
    validation: list[str] | None,
    judged: Corpus | None,
    questions: list[str],
    options: dict[str, Any],
) -> TrainedRater:
    from rich.console import Console
    from rich.progress import Progress

    from vantage.raters.trained.examples import fields_of, reading, refuse_shared
    from vantage.raters.trained.fitting import fit

    learned = whole.filter(**conditions(on)) if on else whole
    held = whole.filter(**conditions(validation)) if validation else None
    asked = questions or [question.id for question in whole.questions]
    if on and judged is not None:
        fields = fields_of(whole.instruments, asked)
        parts = {"the training part": reading(learned.items, fields), "what is judged": reading(judged.items, fields)}
        if held is not None:
            parts["the validation part"] = reading(held.items, fields)
        refuse_shared(parts)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(f"learning ({options['kind']})"), total=None)

        def moved(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return fit(learned, asked, validation=held, progress=moved, **options)


def _tell(rater: TrainedRater, added: tuple[int, list[str]], save: Path | None, to: Path, *, as_json: bool) -> None:
    about = rater.about
    row: dict[str, Any] = {
        "rater": rater.id,
        "learned": about.get("style", ""),
        **{name: about.get(name) for name in ("items", "raters", "judgments")},
        "added": added[0],
    }
    if as_json:
        stated = {name: value for name, value in about.items() if name not in ("texts", "words")}
        print_json({**row, "about": stated, "notes": [*rater.notes, *added[1]]})
        return
    print_rows([row])
    _say_quality(rater, added[1])
    if save is not None:
        typer.echo(f"\nKept the rater in {save}")
    typer.echo(f"Wrote {to}")
