"""`vantage corpora`: import, describe, check, change and export corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vantage.cli.output import Json, print_json, print_rows, show

if TYPE_CHECKING:
    from vantage.corpora import Corpus

app = typer.Typer(help="Import, describe, check and export corpora of judgments.", rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A corpus folder.")]
To = Annotated[Path, typer.Option("--to", help="Where the result is written.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE[,VALUE]", help="Keep what fits; may be repeated."),
]


@app.callback(invoke_without_command=True)
def list_readers(context: typer.Context, as_json: Json = False) -> None:
    """List the formats that can be imported, and where the originals live."""
    if context.invoked_subcommand is not None:
        return
    from vantage.corpora.readers import READERS

    if as_json:
        rows = [
            {"reader": r.name, "title": r.title, "home": r.home, "needs": r.needs, "options": r.options}
            for r in READERS.values()
        ]
        print_json(rows)
        return
    print_rows([{"reader": r.name, "what": r.title, "from": r.home} for r in READERS.values()])
    typer.echo("\nImport with: vantage corpora import READER --from PATH --to FOLDER")


@app.command("import")
def import_(
    reader: Annotated[str, typer.Argument(help="The format, as listed by `vantage corpora`.")],
    source: Annotated[Path, typer.Option("--from", help="The file or folder to read.")],
    to: To,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="Which column holds what: item, rater, value, text …"),
    ] = None,
    question: Annotated[str | None, typer.Option(help="The question that was asked, where no column says it.")] = None,
    traits: Annotated[str | None, typer.Option(metavar="COLUMN,…", help="Columns that describe the rater.")] = None,
    instrument: Annotated[str | None, typer.Option(help="The instrument the values belong to (name or file).")] = None,
    wide: Annotated[bool, typer.Option("--wide", help="The table has one column per rater.")] = False,
    duplicates: Annotated[
        str | None, typer.Option(metavar="first|last|mean", help="Resolve judgments that stand twice.")
    ] = None,
    empty: Annotated[
        str | None,
        typer.Option(metavar="skip|STATUS", help="What an empty value means, such as not_mentioned."),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a text file that is not UTF-8.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of this reader; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Read data in a known format and write a corpus folder."""
    from vantage.corpora.readers import load

    options: dict[str, Any] = pairs(option or [], "--option")
    given: dict[str, Any] = {
        "map": pairs(mapping, "--map") if mapping else None,
        "question": question,
        "traits": names(traits),
        "instrument": instrument,
        "wide": wide or None,
        "duplicates": duplicates,
        "empty": empty,
        "encoding": encoding,
    }
    options |= {name: value for name, value in given.items() if value}
    corpus = load(reader, source, **options)
    _written(corpus, to, as_json=as_json)


@app.command()
def describe(folder: Folder, as_json: Json = False) -> None:
    """Print what a researcher checks first."""
    from vantage.corpora import Corpus
    from vantage.corpora.describe import describe as told

    description = told(Corpus.read(folder))
    if as_json:
        print_json(description)
    else:
        print_description(description)


@app.command()
def validate(folder: Folder, as_json: Json = False) -> None:
    """Check a corpus folder and report every kind of problem in it."""
    from vantage.corpora.validate import problems

    found = problems(folder)
    if as_json:
        print_json([{"problem": problem} for problem in found])
    elif found:
        typer.echo("\n".join(found), err=True)
    else:
        typer.echo(f"{folder}: no problems")
    if found:
        raise typer.Exit(2)


@app.command()
def export(
    folder: Folder,
    to: To,
    form: Annotated[str, typer.Option("--as", metavar="FORMAT", help="csv, lewidi, huggingface or folder.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a corpus in another format."""
    from vantage.corpora import Corpus
    from vantage.corpora.writers import export as write

    written = write(Corpus.read(folder), form, to, overwrite=overwrite)
    if as_json:
        print_json([{"format": form, "written": str(written)}])
    else:
        typer.echo(f"Wrote {written}")


@app.command("filter")
def filter_(folder: Folder, to: To, where: Where = None, as_json: Json = False) -> None:
    """Write the part of a corpus that fits."""
    from vantage.corpora import Corpus

    _written(Corpus.read(folder).filter(**conditions(where)), to, as_json=as_json)


@app.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER FOLDER …", help="Two or more corpus folders.")],
    to: To,
    as_json: Json = False,
) -> None:
    """Write one corpus of several."""
    from vantage.corpora import Corpus

    first, *others = (Corpus.read(folder) for folder in folders)
    _written(first.merge(*others), to, as_json=as_json)


@app.command()
def traits(
    folder: Folder,
    source: Annotated[Path, typer.Option("--from", help="A table of raters, or a Prolific demographics export.")],
    rater: Annotated[str | None, typer.Option(help="The column with the rater's id.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write; without it the folder is changed.")] = None,
    as_json: Json = False,
) -> None:
    """Join what is known of the raters, such as a Prolific demographics export."""
    from vantage.corpora import Corpus
    from vantage.corpora.prolific import read_traits

    corpus = Corpus.read(folder).join_traits(read_traits(source, rater))
    _written(corpus, to or folder, as_json=as_json)


def conditions(where: list[str] | None) -> dict[str, list[str]]:
    """`--where COLUMN=VALUE,VALUE` as keywords of `Corpus.filter`."""
    return {column: values.split(",") for column, values in pairs(where or [], "--where", comma=False).items()}


def print_description(told: dict[str, Any]) -> None:
    """A description for people."""
    typer.echo(f"{told['title'] or told['name']}")
    if told["source"]:
        typer.echo(f"from {told['source']}" + (f"; licence: {told['licence']}" if told["licence"] else ""))
    typer.echo("")
    sizes = {key: told[key] for key in ("items", "targets", "raters", "judgments", "rationales") if told.get(key)}
    typer.echo(", ".join(f"{show(size)} {name}" for name, size in sizes.items()))
    for key in ("judgments_per_item", "judgments_per_rater"):
        spread = told[key]
        if spread["min"] is not None:
            low, middle, high = (show(spread[part]) for part in ("min", "median", "max"))
            typer.echo(f"{key.replace('_', ' ')}: {low} to {high}, median {middle}")
    for key in ("kinds", "conditions", "statuses"):
        counts = {name or "(none)": count for name, count in told[key].items()}
        if len(counts) > 1 or key == "kinds":
            typer.echo(f"{key}: {', '.join(f'{show(count)} {name}' for name, count in counts.items())}")
    typer.echo("")
    print_rows([_question_row(question) for question in told["questions"]])
    for codes in dict.fromkeys(tuple(q["values"]) for q in told["questions"] if q["values"] and len(q["values"]) <= 11):
        alike = [q for q in told["questions"] if q["values"] and tuple(q["values"]) == codes]
        typer.echo("")
        print_rows([{"answers": q["question"], **q["values"]} for q in alike])
    for heading, columns in (
        ("Traits of the raters", told["traits"]),
        ("Columns of the items", told["item_columns"]),
    ):
        if columns:
            typer.echo("")
            print_rows([{"column": name, **_column_row(c)} for name, c in columns.items()], title=heading)
    remarks = _remarks(told)
    if remarks:
        typer.echo("\n" + "\n".join(f"• {remark}" for remark in remarks))


def _question_row(question: dict[str, Any]) -> dict[str, Any]:
    spread = question["judgments_per_item"]
    declined = {status: count for status, count in question["statuses"].items() if status != "answered"}
    return {
        "question": question["question"],
        "scale": question["scale"],
        "items": question["items"],
        "raters": question["raters"],
        "judgments": question["judgments"],
        "per item": f"{show(spread['min'])}–{show(spread['max'])}",
        "mean": question["mean"],
        "no value": declined or None,
    }


def _column_row(column: dict[str, Any]) -> dict[str, Any]:
    if "counts" in column:
        parts = [f"{name} {show(count)}" for name, count in column["counts"].items()]
        if "others" in column:
            parts = [*parts[:4], f"… ({column['distinct']} different)"]
        told = ", ".join(parts)
    elif "median" in column:
        told = f"{show(column['min'])} to {show(column['max'])}, median {show(column['median'])}"
    else:
        told = "nested"
    return {"values": told, "missing": column["missing"]}


def _remarks(told: dict[str, Any]) -> list[str]:
    remarks = []
    repeated = told["repeated_texts"]
    if repeated["texts"]:
        example = ", ".join(repeated["examples"][0])
        texts, items = show(repeated["texts"]), show(repeated["items"])
        remarks.append(f"{texts} texts occur in several items ({items} items), such as {example}")
    lonely = [(what, told[f"{what}_without_judgments"]) for what in ("items", "raters")]
    remarks += [f"{show(count)} {what} have no judgments" for what, count in lonely if count]
    return [*remarks, *told["notes"]]


def _written(corpus: Corpus, to: Path, *, as_json: bool) -> None:
    from vantage.corpora.describe import describe as told

    corpus.write(to)
    if as_json:
        print_json(told(corpus))
        return
    items, raters, judgments = (show(len(t)) for t in (corpus.items, corpus.raters, corpus.judgments))
    typer.echo(f"Wrote {to}: {items} items, {raters} raters, {judgments} judgments")
    for note in corpus.about.notes:
        typer.echo(f"• {note}")
    typer.echo(f"Look at it with: vantage corpora describe {to}")


def pairs(texts: list[str], flag: str, *, comma: bool = True) -> dict[str, str]:
    """`NAME=VALUE` words as a mapping."""
    from vantage.errors import InputError

    pairs: dict[str, str] = {}
    for text in texts:
        for part in text.split(",") if comma else [text]:
            name, equals, value = part.partition("=")
            if not equals or not name.strip() or not value.strip():
                raise InputError(
                    f"{flag} takes NAME=VALUE, not '{part}'",
                    remedy=f"write {flag} item=COLUMN" if comma else None,
                )
            pairs[name.strip()] = value.strip()
    return pairs


def names(text: str | None) -> list[str]:
    """`A,B` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
