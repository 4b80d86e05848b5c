"""`vantage train`: learn a rater from people's judgments, keep it in a folder, and let it judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.corpora import TextColumns, TextsOrFolder, conditions, names, pairs, texts_or_corpus
from vantage.cli.output import Json, print_json, print_rows, printable

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.raters.trained.rater import TrainedRater


def train(
    folder: TextsOrFolder,
    question: Annotated[
        str | None, typer.Option("--question", metavar="ID,…", help="Which questions to learn (default: all).")
    ] = None,
    kind: Annotated[
        str, typer.Option(help="encoder, probe, blend, ridge, logistic, majority, mean or median.")
    ] = "encoder",
    model: Annotated[
        str | None,
        typer.Option(
            help="The encoder (minilm, a folder, or a name on the hub such as vinai/bertweet-base), or the language "
            "model that is probed (embedded, hf:NAME); minilm and embedded without it.",
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
    target: Annotated[
        str | None, typer.Option(help="What is learned per item: individual judgments, mean, median or majority.")
    ] = None,
    coarse: Annotated[
        bool, typer.Option("--coarse", help="Learn low, neutral and high instead of the points.")
    ] = False,
    raters: Annotated[
        str | None, typer.Option(metavar="RATER,…", help="Whose judgments to learn from (default: people's).")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of the training, such as epochs=3 or loss=huber."),
    ] = None,
    name: Annotated[str, typer.Option(help="The rater's id in the corpus.")] = "",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    checkpoints: Annotated[
        Path | None, typer.Option(help="A folder with checkpoints; an interrupted training resumes from it.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the rater in this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a saved rater.")] = False,
    load: Annotated[
        Path | None, typer.Option(help="Load the rater saved in this folder instead of learning one.")
    ] = None,
    mapping: TextColumns = None,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Learn a rater from people's judgments and add what it says about items to the corpus.

    No text may stand on two sides of a split. Without --validation, texts are held out in turn.
    """
    from vantage.errors import InputError
    from vantage.raters.trained.rater import TrainedRater

    if folder.is_file() and load is None:
        raise InputError(
            "a file of texts has no judgments to learn from",
            file=folder,
            remedy="use a saved rater with --load FOLDER, or import the table with its judgments",
        )
    folder, whole = texts_or_corpus(folder, to, None, mapping)
    part = whole.filter(**conditions(judge)) if judge else whole
    if load is not None:
        rater = TrainedRater.load(load)
    else:
        options: dict[str, Any] = {"target": target, "coarse": coarse, "raters": names(raters), "name": name}
        options |= {"kind": kind, "seed": seed, **settings(setting)}
        if kind in ("encoder", "blend"):
            options["checkpoints"] = checkpoints
        if model is not None:
            options["model"] = model
        rater = _fitted(whole, on, validation, part if judge else None, names(question), options)
    if save is not None:
        rater.save(save, overwrite=overwrite)
    judged = rater.rate(whole, part)
    added = judged.judgments.height - whole.judgments.height
    judged.write(to or folder)
    _tell(rater, added, save, to or folder, as_json=as_json)


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
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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

    from vantage.raters.trained.fitting import fit
    from vantage.raters.trained.folds import refuse_shared
    from vantage.raters.trained.instances import fields_of, reading

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


def _tell(rater: TrainedRater, added: int, save: Path | None, to: Path, *, as_json: bool) -> None:
    about = rater.about
    row: dict[str, Any] = {
        "rater": rater.id,
        "learned": about.get("style", ""),
        "items": about.get("items"),
        "raters": about.get("raters"),
        "judgments": about.get("judgments"),
        "added": added,
    }
    if as_json:
        print_json({**row, "about": about, "notes": rater.notes})
        return
    print_rows([row])
    held = about.get("validation", {}).get("held_out", {})
    for question, score in held.items():
        typer.echo(
            f"held-out texts, {printable(question)}: {score:.3f} (rank correlation, or macro F1 of a nominal scale)"
        )
    for note in rater.notes:
        typer.echo(f"• {printable(note)}")
    if save is not None:
        typer.echo(f"\nKept the rater in {save}")
    typer.echo(f"Wrote {to}")
