"""`vantage corpora`: import, describe, check, change and export corpora."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import vantage
from vantage.cli.options import TO, Command, GroupedCommand, in_groups, names, number, options_of, pairs, shared
from vantage.cli.output import Json, print_json, print_lines, print_rows, say, show
from vantage.errors import InputError

app = typer.Typer(
    help="Import, describe, check and export corpora of judgments. Without a command: list the formats.",
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A corpus folder.")]
To = Annotated[Path, typer.Option(*TO, help="Where the result is written.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE[,VALUE]",
        help="Keep what fits, such as kind=person, or all but that: kind!=person; may be repeated.",
    ),
]
IncludeExcluded = Annotated[bool, typer.Option("--include-excluded", help="Include raters marked as excluded.")]
with_disclosure = shared("disclosure", options_of("corpora/disclosure.py", "guard"))
"""A verb with `--k`, `--strict` and `--allow-unique`, which it receives as `disclosure`."""


@app.callback(invoke_without_command=True)
def list_readers(context: typer.Context, as_json: Json = False) -> None:
    """List the formats that can be imported, and where the originals live."""
    if context.invoked_subcommand is not None:
        return
    from vantage.corpora.readers import PLUGINS, READERS

    readers = [*READERS.values(), *PLUGINS.working().values()]
    if as_json:
        columns = ("title", "home", "needs", "options")
        print_json([{"reader": r.name, **{name: getattr(r, name) for name in columns}} for r in readers])
        return
    rows = [{"reader": r.name, "what": r.title, "from": r.home} for r in readers]
    print_rows(rows, hint="Import with: vantage corpora import READER --from PATH --to FOLDER")


_reading = options_of(
    "corpora/readers/table.py",
    "read",
    without="source",
    flags={"strip": "--strip/--keep-spaces", "anonymous": "--anonymous"},
)
TABLE_GROUPS = {
    "What the columns are": "map question traits trait columns values instrument",
    "Shapes": "counts shares pairs lists anonymous join without",
    "Answers": "empty missing valid decimal order duplicates unlike",
    "Ids": "strip case spelling kinds",
    "The file": "encoding separator quotes sheet",
}


def _with_table_options(command: Command) -> Command:
    """A verb with the options of the reader `table`, which it receives as `reading`."""
    return shared("reading", _reading)(command)


def _scaled(reading: dict[str, Any], trait: list[str] | None) -> dict[str, Any]:
    """The options of a reader with the scales of traits, and a tab as people write it."""
    if trait:
        reading["traits"] = dict.fromkeys(reading.get("traits") or ()) | trait_scales(trait)
    if reading.get("separator") in ("tab", "\\t"):
        reading["separator"] = "\t"
    return reading


Trait = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN:LEVEL[:A,B,…]",
        help="The scale of a trait, such as age:ordered, or edu:ordered:school,college; may be repeated.",
    ),
]


def trait_scales(texts: list[str]) -> dict[str, str]:
    """`COLUMN:LEVEL` words as a mapping.

    >>> trait_scales(["age:ordered", "plan: b:ordered:low,high"])
    {'age': 'ordered', 'plan: b': 'ordered:low,high'}
    """
    scales = {}
    for text in texts:
        if not (parts := re.fullmatch(r"(.+?):\s*((?:nominal|ordered|numeric)(?::.+)?)", text)):
            raise InputError(f"--trait takes COLUMN:LEVEL, not '{text}'", remedy="write --trait age:ordered")
        scales[parts[1].strip()] = parts[2]
    return scales


Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the corpus that is there.")]


@app.command("import", cls=GroupedCommand)
@in_groups({**TABLE_GROUPS, "What is kept": "source to licence origin language option overwrite as_json"})
@_with_table_options
def import_(
    reader: Annotated[
        str,
        typer.Argument(metavar="READER", help="The format: table for your own, or one that `vantage corpora` lists."),
    ],
    to: To,
    reading: dict[str, Any],
    trait: Trait = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="The file or folder to read.", show_default=False)
    ] = None,
    licence: Annotated[str | None, typer.Option(help="The licence of the data, such as CC BY 4.0.")] = None,
    origin: Annotated[str | None, typer.Option("--source", help="Where the data are published.")] = None,
    language: Annotated[str | None, typer.Option(help="The language of the texts, such as en.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of this reader; may be repeated."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Read data in a known format and write a corpus folder.

    For a table of your own, let Vantage look at it first, then import it with the command that it suggests:

    vantage corpora preview ratings.csv

    vantage corpora import table --from ratings.csv --map item=ID,rater=worker,value=score --to FOLDER
    """
    from vantage.corpora.readers import load

    if source is None and Path(reader).is_file():
        reader, source = "table", Path(reader)
    if source is None:
        raise InputError("no file given", remedy=f"run: vantage corpora import {reader} --from PATH --to {to}")
    _vacant(to, overwrite=overwrite)
    corpus = load(reader, source, **{**pairs(option or [], "--option"), **_scaled(reading, trait)})
    facts: dict[str, Any] = {"licence": licence, "source": origin, "language": language}
    corpus.about = replace(corpus.about, **{name: value for name, value in facts.items() if value is not None})
    _written(corpus, to, as_json=as_json)


@app.command(cls=GroupedCommand)
@in_groups({**TABLE_GROUPS, "Output": "as_json"})
@_with_table_options
def preview(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table in any format.")],
    reading: dict[str, Any],
    trait: Trait = None,
    as_json: Json = False,
) -> None:
    """Say what would be read from a table, what is doubtful, and how to import it."""
    from vantage.cli.description import print_preview
    from vantage.corpora.preview import attempts

    seen, tried = attempts(file, **_scaled(reading, trait))
    for facts, attempt in zip(seen["readings"] or [seen], tried, strict=False):
        _with_alpha(facts, attempt.corpus)
    (print_json if as_json else print_preview)(seen)
    if seen["problem"]:
        raise typer.Exit(2)


def _with_alpha(facts: dict[str, Any], corpus: vantage.Corpus | None) -> None:
    """Adds the agreement about each question, which shows best whether a table was understood."""
    if corpus is None or not corpus.people().sizes["judgments"]:
        return
    table = vantage.measures.alpha(corpus, by="question", ci="none")
    agreement = dict(table.select("question", "estimate").iter_rows())
    for question in facts["questions"]:
        question["alpha"] = agreement.get(question["question"])


@app.command()
def describe(folder: Folder, as_json: Json = False) -> None:
    """Print what a researcher checks first.

    Sizes, judgments per item and rater, scales and answers, traits, and what looks odd.
    """
    from vantage.cli.description import print_description
    from vantage.corpora.describe import describe as described

    (print_json if as_json else print_description)(described(vantage.Corpus.read(folder)))


@app.command()
def validate(folder: Folder, as_json: Json = False) -> None:
    """Check a corpus folder and report every kind of problem in it."""
    from vantage.corpora.describe import problems

    faults = problems(folder)
    if as_json:
        print_json([{"problem": problem} for problem in faults])
    elif faults:
        typer.echo("\n".join(faults), err=True)
    else:
        typer.echo(f"{folder}: no problems")
    if faults:
        raise typer.Exit(2)


@app.command()
@with_disclosure
def export(
    folder: Folder,
    to: To,
    disclosure: dict[str, Any],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="FORMAT",
            help="folder, csv, lewidi, huggingface, card, croissant, inspect or lm-eval.",
        ),
    ],
    instrument: Annotated[
        str | None, typer.Option(help="inspect, lm-eval: what is asked, where the corpus has several instruments.")
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="ID,…", help="inspect, lm-eval: some of the questions; all without it.")
    ] = None,
    style: Annotated[
        str | None, typer.Option(help="inspect, lm-eval: how it is asked, such as few-shot:4+reasoning or scoring.")
    ] = None,
    kinds: Annotated[
        str | None, typer.Option(metavar="KIND,…|all", help="lewidi: whose annotations; people's without it.")
    ] = None,
    include_excluded: IncludeExcluded = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a corpus in another format.

    A corpus folder, one long CSV file, the files of the LeWiDi shared tasks, a Hugging Face dataset, its card alone, a
    Croissant description with the tables, or the questions as a task of Inspect or of the lm-evaluation-harness.
    """
    given = {"instrument": instrument, "question": question, "style": style, "kinds": kinds}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {"include_excluded": include_excluded, **disclosure}
    written = vantage.export(vantage.Corpus.read(folder), form, to, overwrite=overwrite, **options)
    say([{"format": form, "written": str(written)}], f"Wrote {written}", as_json=as_json)


@app.command("filter")
def filter_(folder: Folder, to: To, where: Where = None, overwrite: Overwrite = False, as_json: Json = False) -> None:
    """Write the part of a corpus that fits --where."""
    _vacant(to, overwrite=overwrite)
    _written(filtered(vantage.Corpus.read(folder), where), to, as_json=as_json)


@app.command()
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Two or more corpus folders.")],
    to: To,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write one corpus of several."""
    _vacant(to, overwrite=overwrite)
    first, *others = (vantage.Corpus.read(folder) for folder in folders)
    _written(first.merge(*others), to, as_json=as_json)


@app.command()
@shared("options", options_of("corpora/tuples.py", "tuples"))
def tuples(
    folder: Folder, to: To, options: dict[str, Any], overwrite: Overwrite = False, as_json: Json = False
) -> None:
    """Write a corpus of tuples of texts, for pairwise comparisons and best–worst scaling.

    Each text is in equally many tuples and stands equally often in each place; no two texts meet twice.
    """
    from vantage.corpora.tuples import tuples as made

    _vacant(to, overwrite=overwrite)
    _written(made(vantage.Corpus.read(folder), **options), to, as_json=as_json)


@app.command()
def traits(
    folder: Folder,
    source: Annotated[
        Path | None, typer.Option("--from", help="A table of raters, or a Prolific demographics export.")
    ] = None,
    trait: Trait = None,
    rater: Annotated[str | None, typer.Option(help="The column with the rater's id.")] = None,
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; without it the folder is changed.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Join what is known of the raters, or say on what scales their traits are.

    From a table with one row per rater, such as a Prolific demographics export.
    """
    from vantage.corpora import PEOPLE
    from vantage.corpora.prolific import read_traits

    _vacant(to or folder, overwrite=overwrite or to is None)
    if source is None and not trait:
        raise InputError("no table of raters given", remedy="pass --from FILE, or --trait age:ordered")
    corpus = vantage.Corpus.read(folder)
    known = read_traits(source, rater) if source is not None else corpus.raters
    corpus = corpus.join_traits(known) if source is not None else corpus
    corpus = corpus.with_trait_scales(trait_scales(trait)) if trait else corpus
    _written(corpus, to or folder, as_json=as_json)
    people = [name for name, kind in corpus.raters.select("rater", "kind").iter_rows() if kind in PEOPLE]
    described = set(known["rater"])
    if not as_json and (unknown := [name for name in people if name not in described]):
        some = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
        typer.echo(f"• The table has nothing about {len(unknown):,} of {len(people):,} people: {some}.")


@app.command()
def design(
    folder: Folder,
    sources: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of the items: conversation, document, author …")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of the raters: class, team, block …")
    ] = None,
    to: Annotated[Path | None, typer.Option(*TO, help="Where to write; without it the folder is changed.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Declare which items and which raters were drawn together.

    Intervals and tests are then over conversations, not over their posts. Without an option: say what is declared.
    """
    from vantage.corpora.describe import describe as described

    corpus = vantage.Corpus.read(folder)
    if sources is None and groups is None:
        facts = described(corpus)
        if as_json:
            print_json({**facts["design"], "undeclared": facts["undeclared"]})
            return
        print_rows([{"drawn together": name, "column": column or "(none)"} for name, column in facts["design"].items()])
        print_lines(facts["undeclared"])
        return
    _vacant(to or folder, overwrite=overwrite or to is None)
    known = corpus.design
    corpus = corpus.with_design(sources=sources or known.sources, groups=groups or known.groups)
    _written(corpus, to or folder, as_json=as_json)


@app.command()
def weight(
    folder: Folder,
    target: Annotated[
        Path, typer.Option("--to", help="The target: a CSV file with trait,value,share, or traits and their share.")
    ],
    name: Annotated[str, typer.Option(help="What the weights are called, such as census.")],
    bounds: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Keep weights, whose mean is 1, in between, such as 0.3,3.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="A column of weights to start from, instead of equal ones.")] = None,
    as_json: Json = False,
) -> None:
    """Give each person a weight, so that the raters stand for other people.

    The weights are raked to the target and kept with the corpus; measures take them with --weights NAME.
    """
    ends = [number(word) for word in names(bounds)]
    if bounds is not None and (len(ends) != 2 or any(isinstance(end, str) for end in ends)):
        raise InputError(f"--bounds takes LOW,HIGH, not '{bounds}'", remedy="write --bounds 0.3,3")
    kept = None if bounds is None else (float(ends[0]), float(ends[1]))
    corpus = vantage.Corpus.read(folder).with_weights(name, target, bounds=kept, base=base)
    corpus.write(folder)
    record = corpus.about.weights[name]
    if as_json:
        print_json({"weights": name, **record.to_plain()})
        return
    print_lines([f"• {line}" for line in record.sentences])
    typer.echo(f"Use them with: vantage measure alpha {folder} --weights {name}")


def conditions(where: list[str] | None) -> dict[str, list[str]]:
    """`--where COLUMN=VALUE,VALUE` and `COLUMN!=VALUE,VALUE` as keywords of `Corpus.filter`."""
    return {column: values.split(",") for column, values in pairs(where or [], "--where", comma=False).items()}


def filtered(corpus: vantage.Corpus, where: list[str] | None) -> vantage.Corpus:
    """The part of a corpus that fits `--where`; a value that occurs nowhere is refused, with the nearest that does."""
    from vantage.errors import nearest

    for column, values in conditions(where).items():
        column = column.removesuffix("!")  # noqa: PLW2901
        known = corpus.values_of(column)
        for value in values:
            if value not in known and value.removesuffix(".0") not in known:
                raise InputError(f"no {column} is '{value}'", remedy=nearest(value, known[:50]))
    part = corpus.filter(**conditions(where)) if where else corpus
    if where and part.judgments.is_empty() and not corpus.judgments.is_empty():
        raise InputError(f"nothing fits --where {' --where '.join(where)}", remedy="ask for less")
    return part


def _chosen_corpus(
    folder: Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder.")], where: Where = None
) -> vantage.Corpus:
    return filtered(vantage.Corpus.read(folder), where)


with_corpus = shared("corpus", _chosen_corpus)
"""A verb about one corpus, or the part of it that fits `--where`, which it receives as `corpus`."""


def texts_or_corpus(
    path: Path, to: Path | None, instrument: str | None, mapping: list[str] | None, *, write: bool = True
) -> tuple[Path, vantage.Corpus]:
    """A corpus folder, or a file of texts made into one: at `to`, or in a folder with the file's name.

    A folder that holds these texts already is used as it is, so that a command can be given again.
    """
    from vantage.corpora import storage
    from vantage.corpora.readers import load

    if not path.is_file():
        if mapping:
            raise InputError("--map is for a file of texts", file=path, remedy="leave it out for a corpus folder")
        return path, vantage.Corpus.read(path)
    options = {"map": pairs(mapping or [], "--map"), "instrument": instrument}
    corpus = load("texts", path, keep=True, **{name: value for name, value in options.items() if value})
    place = to or Path(path.name.split(".")[0])
    if storage.is_corpus(place):
        known = vantage.Corpus.read(place)
        columns = [column for column in corpus.items.columns if column in known.items.columns]
        if len(columns) < len(corpus.items.columns) and not known.sizes["judgments"] and write:
            corpus.write(place)  # the texts with further columns, such as a target
            return place, corpus
        if not known.items.select(columns).equals(corpus.items.select(columns)):
            raise InputError("there is another corpus already", file=place, remedy="choose a new folder with --to")
        return place, known
    if write:
        corpus.write(place)
    return place, corpus


TextColumns = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=COLUMN,…", help="For a file of texts: text=COLUMN, target=COLUMN …"),
]
TextsOrFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A corpus folder, or a file with one text per row.")
]


def _vacant(to: Path, *, overwrite: bool) -> None:
    """Refuses to replace a corpus unasked: it may hold judgments that were collected or paid for."""
    from vantage.corpora import storage

    if storage.is_corpus(to) and not overwrite:
        raise InputError("there is a corpus already", file=to, remedy="choose another folder or pass --overwrite")


def _written(corpus: vantage.Corpus, to: Path, *, as_json: bool) -> None:
    from vantage.corpora.describe import describe as described

    corpus.write(to)
    if as_json:
        print_json(described(corpus))
        return
    typer.echo(f"Wrote {to}: {', '.join(f'{show(size)} {table}' for table, size in corpus.sizes.items())}")
    print_lines([*(f"• {note}" for note in corpus.about.notes), f"Look at it with: vantage corpora describe {to}"])
