"""`vantage corpora`: import, describe, check, change and export corpora."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import vantage
from vantage.cli.options import VerbGroup, filtered, options_of
from vantage.cli.output import VerbResult, show
from vantage.errors import InputError, Problems

app = VerbGroup(
    "Import, describe, check and export corpora of judgments. Without a command: list the formats.",
    no_args_is_help=False,
)
Values = dict[str, Any]
Disclosure = Annotated[Values, options_of("corpora/disclosure.py", "guard")]
"""`--k`, `--strict` and `--allow-unique`."""


@app.alone
def list_readers() -> VerbResult:
    """List the formats that can be imported, and where the originals live."""
    from vantage.corpora.readers import PLUGINS, READERS

    known = [*READERS.values(), *PLUGINS.working().values()]
    data = [{"reader": r.name, "title": r.title, "home": r.home, "needs": r.needs, "options": r.options} for r in known]
    rows = [{"reader": r.name, "what": r.title, "from": r.home} for r in known]
    return VerbResult(data, rows, "\nImport with: vantage corpora import READER --from PATH --to FOLDER")


def _scaled(
    read: Annotated[
        Values,
        options_of(
            "corpora/readers/table.py",
            "read",
            without="source",
            flags={"strip": "--strip/--keep-spaces", "anonymous": "--anonymous"},
        ),
    ],
    *,
    trait: list[str],
) -> Values:
    """The options of a reader with the scales of traits, and a tab as people write it.

    What the columns are:
        map question traits trait columns values instrument
    Shapes:
        counts shares pairs lists anonymous join without
    Answers:
        empty missing valid decimal order duplicates unlike
    Ids:
        strip case spelling kinds
    The file:
        encoding separator quotes sheet
    """
    if trait:
        read["traits"] = dict.fromkeys(read.get("traits") or ()) | trait_scales(trait)
    if read.get("separator") in ("tab", "\\t"):
        read["separator"] = "\t"
    return read


Reading = Annotated[Values, _scaled]
"""The options of the reader `table`."""


def _selected(corpus: Path, *, where: list[str]) -> vantage.Corpus:
    return filtered(vantage.Corpus.read(corpus), where)


def _into(*, to: Path, overwrite: bool = False) -> Path:
    """A folder for a corpus; one is not replaced unasked, as it may hold judgments that were collected or paid for."""
    from vantage.corpora import storage

    if storage.is_corpus(to) and not overwrite:
        raise InputError("there is a corpus already", file=to, remedy="choose another folder or pass --overwrite")
    return to


def _changed(folder: Path, *, to: Path | None = None, overwrite: bool = False) -> tuple[vantage.Corpus, Path]:
    return vantage.Corpus.read(folder), folder if to is None else _into(to=to, overwrite=overwrite)


Selected = Annotated["vantage.Corpus", _selected]
"""A corpus, or the part of it that fits `--where`."""
Into = Annotated[Path, _into]
"""Where a new corpus is written."""
Changed = Annotated["tuple[vantage.Corpus, Path]", _changed]
"""A corpus, and where it is written when it has changed."""


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


@app.verb
def import_(
    reader: str,
    *,
    into: Into,
    reading: Reading,
    from_: Path | None = None,
    licence: str | None = None,
    source: str | None = None,
    language: str | None = None,
    option: Mapping[str, str],
) -> VerbResult:
    """Read data in a known format and write a corpus folder.

    For a table of your own, preview it first, then run the command that this suggests:

    vantage corpora preview ratings.csv

    vantage corpora import table --from ratings.csv --map item=ID,rater=worker,value=score --to FOLDER

    Arguments:
        reader: The format: table for your own, or one that `vantage corpora` lists.
    What is kept:
        from_: The file or folder to read.
        to
        licence: The licence of the data, such as CC BY 4.0.
        source: Where the data are published.
        language: The language of the texts, such as en.
        option (NAME=VALUE): An option of this reader; repeatable.
        overwrite json
    """
    from vantage.corpora.readers import load

    if from_ is None and Path(reader).is_file():
        reader, from_ = "table", Path(reader)
    if from_ is None:
        raise InputError("no file given", remedy=f"run: vantage corpora import {reader} --from PATH --to {into}")
    corpus = load(reader, from_, **{**option, **reading})
    facts: dict[str, Any] = {"licence": licence, "source": source, "language": language}
    corpus.about = replace(corpus.about, **{name: value for name, value in facts.items() if value is not None})
    return _written(corpus, into)


@app.verb
def preview(file: Path, *, reading: Reading) -> VerbResult:
    """Show how a table would be read, what is doubtful, and how to import it.

    Arguments:
        file: A table in any format.
    Output:
        json
    """
    from vantage.cli.description import preview_lines
    from vantage.corpora.preview import attempts

    seen, tried = attempts(file, **reading)
    for facts, attempt in zip(seen["readings"] or [seen], tried, strict=False):
        _with_alpha(facts, attempt.corpus)
    return VerbResult(seen, *preview_lines(seen), code=2 if seen["problem"] else 0)


def _with_alpha(facts: dict[str, Any], corpus: vantage.Corpus | None) -> None:
    """Adds the agreement about each question, which shows best whether a table was understood."""
    if corpus is None or not corpus.people().sizes["judgments"]:
        return
    table = vantage.measures.alpha(corpus, by="question", ci="none")
    agreement = dict(table.select("question", "estimate").iter_rows())
    for question in facts["questions"]:
        question["alpha"] = agreement.get(question["question"])


@app.verb
def describe(folder: Path) -> VerbResult:
    """Summarise a corpus.

    Sizes, judgments per item and rater, scales and answers, traits, and what looks odd.
    """
    from vantage.cli.description import description
    from vantage.corpora.describe import describe as described

    facts = described(vantage.Corpus.read(folder))
    return VerbResult(facts, *description(facts))


@app.verb
def validate(folder: Path) -> VerbResult:
    """Check a corpus folder and report every kind of problem in it."""
    from vantage.corpora.describe import problems

    if not (faults := problems(folder)):
        return VerbResult([], f"{folder}: no problems")
    return VerbResult([{"problem": problem} for problem in faults], error=Problems(folder, faults))


@app.verb
def export(
    folder: Path,
    *,
    to: Path,
    as_: str,
    instrument: str | None = None,
    question: str | None = None,
    style: str | None = None,
    kinds: str | None = None,
    include_excluded: bool = False,
    overwrite: bool = False,
    disclosure: Disclosure,
) -> VerbResult:
    """Write a corpus in another format.

    A corpus folder, one long CSV file, the files of the LeWiDi shared tasks, a Hugging Face dataset, its card alone, a
    Croissant description with the tables, or the questions as a task of Inspect or of the lm-evaluation-harness.

    Args:
        as_ (FORMAT): folder, csv, lewidi, huggingface, card, croissant, inspect or lm-eval.
        instrument: inspect, lm-eval: which instrument, if the corpus has several.
        question (ID,…): inspect, lm-eval: which questions (default: all).
        style: inspect, lm-eval: the prompting style, such as few-shot:4+reasoning or scoring.
        kinds (KIND,…|all): lewidi: whose annotations (default: people's).
        include_excluded: Include raters marked as excluded.
        overwrite: Replace existing files.
    """
    given = {"instrument": instrument, "question": question, "style": style, "kinds": kinds}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options |= {"include_excluded": include_excluded, **disclosure}
    written = vantage.export(vantage.Corpus.read(folder), as_, to, overwrite=overwrite, **options)
    return VerbResult([{"format": as_, "written": str(written)}], f"Wrote {written}")


@app.verb
def filter_(corpus: Selected, *, into: Into) -> VerbResult:
    """Write the part of a corpus that matches --where."""
    return _written(corpus, into)


@app.verb
def merge(folders: list[Path], *, into: Into) -> VerbResult:
    """Merge several corpora into one.

    Args:
        folders (FOLDER): Two or more corpus folders.
    """
    first, *others = (vantage.Corpus.read(folder) for folder in folders)
    try:
        return _written(first.merge(*others), into)
    except InputError as error:
        if "--duplicates" not in str(error.remedy):
            raise
        remedy = "leave them out of one corpus with: vantage corpora filter"
        raise InputError("the corpora have judgments in common", file=folders[-1], remedy=remedy) from None


@app.verb
def tuples(
    folder: Path, *, into: Into, options: Annotated[Values, options_of("corpora/tuples.py", "tuples")]
) -> VerbResult:
    """Write a corpus of tuples of texts, for pairwise comparisons and best–worst scaling.

    Each text is in the same number of tuples, equally often in each position; no two texts meet twice.
    """
    from vantage.corpora.tuples import tuples as made

    return _written(made(vantage.Corpus.read(folder), **options), into)


@app.verb
def traits(changed: Changed, *, from_: Path | None = None, rater: str | None = None, trait: list[str]) -> VerbResult:
    """Add traits of raters from a table, or declare the scales of their traits.

    The table has one row per rater, such as a Prolific demographics export.

    Args:
        from_: A table of raters, or a Prolific demographics export.
        rater: The column with rater ids.
    """
    from vantage.corpora import PEOPLE
    from vantage.corpora.prolific import read_traits

    corpus, to = changed
    if from_ is None and not trait:
        raise InputError("no table of raters given", remedy="pass --from FILE, or --trait age:ordered")
    note = []
    if from_ is not None:
        known = read_traits(from_, rater)
        corpus, described = corpus.join_traits(known), set(known["rater"])
        people = [name for name, kind in corpus.raters.select("rater", "kind").iter_rows() if kind in PEOPLE]
        if unknown := [name for name in people if name not in described]:
            some = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
            note = [f"• {len(unknown):,} of {len(people):,} people are not in the table: {some}."]
    return _written(corpus.with_trait_scales(trait_scales(trait)) if trait else corpus, to, *note)


@app.verb
def design(changed: Changed, *, sources: str | None = None, groups: str | None = None) -> VerbResult:
    """Declare which items and which raters were drawn together.

    Intervals and tests then generalise to other conversations, not only to other posts of the same ones. Without an
    option: show what is declared.

    Args:
        sources (COLUMN): A column of the items: conversation, document, author …
        groups (COLUMN): A column of the raters: class, team, block …
    """
    from vantage.corpora.describe import describe as described

    corpus, to = changed
    if sources is None and groups is None:
        facts = described(corpus)
        rows = [{"drawn together": name, "column": column or "(none)"} for name, column in facts["design"].items()]
        return VerbResult({**facts["design"], "undeclared": facts["undeclared"]}, rows, *facts["undeclared"])
    known = corpus.design
    return _written(corpus.with_design(sources=sources or known.sources, groups=groups or known.groups), to)


@app.verb
def weight(folder: Path, *, to: Path, name: str, bounds: Sequence[float], base: str | None = None) -> VerbResult:
    """Weight people so that the raters represent a population.

    Weights are raked to the target and kept with the corpus; measures use them with --weights NAME.

    Args:
        to: The target: a CSV file with trait,value,share, or traits and their share.
        name: A name for the weights, such as census.
        bounds (LOW,HIGH): Keep weights (their mean is 1) within these bounds, such as 0.3,3.
        base: A column of weights to start from (default: equal weights).
    """
    corpus = vantage.Corpus.read(folder).with_weights(name, to, bounds=bounds or None, base=base)
    corpus.write(folder)
    record = corpus.about.weights[name]
    stored = {"weights": name, **record.model_dump(mode="json", exclude_defaults=True)}
    use = f"Use them with: vantage measure alpha {folder} --weights {name}"
    return VerbResult(stored, *(f"• {line}" for line in record.sentences), use)


def texts_or_corpus(
    path: Path, to: Path | None, instrument: str | None, mapping: Mapping[str, str], *, write: bool = True
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
    options = {"map": dict(mapping), "instrument": instrument}
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


def _written(corpus: vantage.Corpus, to: Path, *further: str) -> VerbResult:
    from vantage.corpora.describe import describe as described

    corpus.write(to)
    sizes = ", ".join(f"{show(size)} {table}" for table, size in corpus.sizes.items())
    notes = [f"• {note}" for note in corpus.about.notes]
    hint = f"Look at it with: vantage corpora describe {to}"
    return VerbResult(lambda: described(corpus), f"Wrote {to}: {sizes}", *notes, hint, *further)
