"""Any table: one judgment per row, or one column per rater, item or question.

Values may be numbers, or labels of the instrument's scale. Where no instrument is named, a bare one is inferred from
the answers: whole numbers become an ordinal scale, other numbers a continuous one, words an ordinal one where their
order is known or given, else a nominal one. `cleaning` says what is repaired and what is doubted.

Everything is decided on the different answers, items and raters, which are few; what is decided then applies to the
rows. So a file that is larger than the memory is read like a small one, by queries that stream it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import Corpus, with_defaults
from vantage.corpora.readers.aggregates import check_level, check_made, check_totals
from vantage.corpora.readers.answer_block import answering, check_alike
from vantage.corpora.readers.cleaning import CLEAN, RAW, Cleaning, counted
from vantage.corpora.readers.coding import averaged, bare, coded, first_row, inferred, labels_of, opt_outs_of
from vantage.corpora.readers.column_facts import sample
from vantage.corpora.readers.columns import (
    ROLES,
    SPREAD,
    columns_note,
    long,
    roles_of,
    with_kinds,
)
from vantage.corpora.readers.files import open_rows
from vantage.corpora.readers.shapes import SHARES, from_shares, of_tuples, shaped
from vantage.corpora.readers.structure import one_reading
from vantage.corpora.readers.table_file import ROW, FileRows, FileTable, Scratch, check_column, numeric
from vantage.corpora.storage import About
from vantage.corpora.traits import TraitScale, inferred_scale_of
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import STATUSES

MEANINGS: Final = ("skip", *STATUSES[1:])
"""What an empty value can mean."""


def read(
    source: Path | FileRows | Any,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    question: str | None = None,
    traits: Sequence[str] | Mapping[str, object] = (),
    instrument: str | Instrument | None = None,
    columns: str | None = None,
    values: Sequence[str] = (),
    duplicates: Literal["first", "last", "mean"] | None = None,
    empty: str | None = None,
    missing: Sequence[str] = (),
    valid: Sequence[str] = (),
    decimal: Literal[".", ","] | None = None,
    order: Sequence[str] | None = None,
    strip: bool | None = None,
    case: Literal["keep", "fold"] | None = None,
    spelling: Literal["keep", "join"] | None = None,
    kinds: Mapping[str, str] | None = None,
    unlike: Literal["keep"] | None = None,
    counts: Sequence[str] = (),
    shares: Sequence[str] = (),
    pairs: Sequence[str] = (),
    lists: str | None = None,
    anonymous: bool = False,
    join: str | Path | None = None,
    without: Sequence[str] = (),
    encoding: str = "utf-8",
    separator: str | None = None,
    quotes: Literal["literal"] | None = None,
    sheet: str | None = None,
) -> Corpus:
    """Reads a table of any common format, or a frame of any library.

    Args:
        source: The file, or a frame (Polars, pandas, PyArrow …).
        map: Which column holds what: item, rater, value, text, question, rationale … A column named after its
            role need not be mapped; any other name makes a column of the items.
        question: The question that was asked, if no column says so.
        traits: Columns that describe the rater. As a mapping with their scales: `{"age": "ordered"}` (or null).
        instrument: The instrument whose scales the values are on.
        columns: What the columns with values stand for: `rater`, `item` or `question`; if each has two names (two
            header rows, or `ann [trust]`), both, such as `rater,question`.
        values: The columns of a wide table that hold values, as names or patterns such as `Q*` (default: all that are
            not mapped).
        duplicates: What to do with duplicate judgments (default: refuse them).
        empty: What an empty value means: `skip`, or a status such as `not_mentioned`. Skipped in a wide table;
            required where a long one has empty values.
        missing: Codes for no answer, such as -99 or NA.
        valid: Codes that look like missing ones but are answers.
        decimal: The decimal mark.
        order: The words of the scale, from lowest to highest.
        strip: Ignore or keep spaces around ids; required if it matters.
        case: Whether ids that differ only in case are different (`keep`) or the same (`fold`); required if it
            matters.
        spelling: Whether r01 and r1, or Müller and Mueller, are different (`keep`) or the same (`join`);
            required if both occur.
        kinds: Raters who are not people, such as gpt-4=model or majority=aggregate.
        unlike: Keep columns of a wide table as raters or items even if their answers are unlike the rest.
        counts: Columns that count answers, of unknown people.
        shares: Columns with the shares of answers: each row is one judgment, a distribution.
        pairs: The columns that were compared: two, with the winner as `value`, or more with `best` and `worst`.
        lists: The column that holds lists of labels, or of objects with rater and answer.
        anonymous: Raters are unknown: each row is a different person.
        join: Another table or sheet, which describes items or raters.
        without: Ids of rows to leave out, such as a total.
        encoding: The encoding of a text file.
        separator: The separator of a CSV file.
        quotes: Treat quotation marks in a CSV file as ordinary text.
        sheet: The sheet of a spreadsheet.
    """
    spread = _checked(columns or "", empty, duplicates)
    scales = {trait: how for trait, how in traits.items() if how} if isinstance(traits, Mapping) else {}
    traits = list(traits)
    cleaning = Cleaning(missing, valid, decimal, order, strip, case, empty, spelling)
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    whole = source if isinstance(source, FileRows) else open_rows(source, encoding, separator, quotes, sheet)
    whole, map = shaped(whole, dict(map or {}), traits, lists, counts, pairs, join, anonymous=anonymous)  # noqa: A001
    if shares:
        scale = known.question(_asked(question, known, map, "value")).scale if known is not None else None
        whole, map, scale = from_shares(whole, shares, map, scale, cleaning)  # noqa: A001
        known = known or bare(whole, {question or "value": scale})
    if not (map or spread or values):
        reading = one_reading(whole, {"traits": {**dict.fromkeys(traits), **scales}, "without": without})
        map, spread = reading.get("map") or {}, str(reading.get("columns") or "")  # noqa: A001
        values, without = reading.get("values") or (), reading.get("without") or without
        traits, pairs = list(reading.get("traits") or ()), reading.get("pairs") or ()
        whole, map = shaped(whole, map, traits, None, (), pairs, None, anonymous="anonymous" in reading)  # noqa: A001
    cleaning.notes += whole.notes
    whole = _without(whole, without, cleaning)
    if spread not in ("", "question") and not without and not whole.streamed:
        check_totals(whole, sample(whole).drop(ROW))
    roles = roles_of(whole, map or {}, spread)
    if taken := [name for name in traits if name in ROLES and roles.get(name) == name]:
        raise whole.fault(f"column '{taken[0]}' is read as something other than a trait", "leave it out of traits")
    held = values or (answering(whole, [*roles.values(), *traits]) if spread else ())
    rows = long(whole, roles, traits, spread, held) if spread else whole
    asked = _asked(question, known, roles, "value" if spread else roles["value"].removeprefix("__"))
    judged = _judged(rows, roles, asked, traits)
    answers = _answers(rows, judged, asked, roles["value"], cleaning, labelled=known is not None)
    judged, answers = _without_blanks(rows, judged, answers, roles, cleaning, empty or "skip" * bool(spread or missing))
    described = {
        "item": [name for name in roles if name not in ROLES],
        "rater": [*traits, *(["kind"] if "kind" in roles else [])],
    }
    for name in described["rater"]:
        judged = _with_trait(rows, judged, name, roles.get(name, name), cleaning)
        judged, labelled = _with_words(rows, judged, name, whole.labels.get(name, {}))
        scales = {**({name: labelled} if labelled else {}), **scales}
    if spread in ("rater", "item") and unlike is None:
        check_alike(rows, spread, judged, answers)
    judged, answers, firsts = _with_ids(rows, judged, answers, roles, described, cleaning)
    if known is None:
        merged = averaged(rows, judged, answers) if duplicates == "mean" else answers
        labels, opt_outs = labels_of(whole, roles, spread, rows.cells), opt_outs_of(rows, judged, answers, roles, empty)
        known = of_tuples(rows, pairs, opt_outs) or inferred(rows, merged, roles["value"], cleaning, labels, opt_outs)
    judged = coded(rows, judged, answers, roles, known, empty)
    if "probabilities" in roles:
        _check_probabilities(rows, judged, roles["probabilities"], known)
    items, raters = (_side(rows, judged, firsts[key], names, roles) for key, names in described.items())
    raters = _told_apart(
        rows, judged, items, raters, roles["rater"], kinds or {}, spread, scaled=instrument is not None
    )
    cleaning.notes += columns_note(raters, kinds or {}) if "rater" in spread else []
    cleaning.notes += _remarks(items, raters, int(answers["count"].sum()), roles)
    made = _corpus(rows, judged, items, raters, known, _about(whole, roles, traits, cleaning, rows.cells), duplicates)
    return made.with_trait_scales(scales) if scales else made


def _told_apart(
    rows: FileRows,
    judged: pl.LazyFrame,
    items: pl.DataFrame,
    raters: pl.DataFrame,
    column: str,
    kinds: Mapping[str, str],
    spread: str,
    *,
    scaled: bool,
) -> pl.DataFrame:
    """Raters with their kinds; those who may be no people are doubted. What arithmetic tells comes before names."""
    in_rows = "rater" not in spread
    said = {*(raters["rater"] if "kind" in raters.columns else kinds)}
    check_made(rows, judged, items["item"], raters["rater"], said, in_rows=in_rows)
    raters = with_kinds(rows, column, raters, kinds)
    if not scaled:
        check_level(rows, judged, raters, in_rows=in_rows)
    return raters


def _remarks(items: pl.DataFrame, raters: pl.DataFrame, rows: int, roles: Mapping[str, str]) -> list[str]:
    """What is worth knowing of the items and raters that were read."""
    notes = []
    if raters["rater"].str.contains(r"^[^@\s]+@[^@\s]+\.\w+\s*$").any():
        notes.append("Raters are known by e-mail addresses: replace them before you pass the corpus on.")
    texts = items["text"] if items.schema.get("text") == pl.String and "item" in roles else None
    if texts is not None and len(items) == rows > texts.n_unique():
        notes.append(
            "Every row became an item of its own although texts repeat; without item=… equal texts are one item."
        )
    return notes


def _checked(spread: str, empty: str | None, duplicates: str | None) -> str:
    """What the columns of a table are, "" for a long one; words that mean nothing are refused."""
    if empty is not None and empty not in MEANINGS:
        raise InputError(f"'{empty}' is not a meaning of an empty value", remedy=nearest(empty, MEANINGS))
    if duplicates is not None and duplicates not in ("first", "last", "mean"):
        raise InputError(f"'{duplicates}' does not say what to do", remedy="use first, last or mean")
    if spread and spread not in SPREAD:
        raise InputError(f"columns cannot be '{spread}'", remedy=f"use {', '.join(SPREAD)}")
    return spread


def _without(rows: FileRows, ids: Sequence[str], cleaning: Cleaning) -> FileRows:
    """The rows without those that have one of the ids in any column of text."""
    if not ids:
        return rows
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    gone = pl.any_horizontal(pl.col(texts).str.strip_chars().is_in(list(ids)).fill_null(value=False))
    (count,) = rows.collect(rows.lazy.filter(gone).select(pl.len()))
    if not count.item():
        raise rows.fault(f"no row has '{ids[0]}'", "drop --without")
    cleaning.notes.append(f"{counted(count.item(), 'row')} left out: {', '.join(ids)}.")
    return replace(rows, lazy=rows.lazy.filter(~gone))


def _asked(question: str | None, instrument: Instrument | None, roles: Mapping[str, str], column: str) -> str:
    """The question of a table without a column for it: as given, the instrument's only one, or its answers' column."""
    if "question" in roles:
        if question is not None:
            remedy = "leave --question out or map another column"
            raise InputError("the table has a column for the question", remedy=remedy)
        return ""
    if question is not None or instrument is None:
        return question or column
    if len(instrument.questions) > 1:
        names = ", ".join(q.id for q in instrument.questions)
        raise InputError(f"instrument '{instrument.id}' asks {names}", remedy="say which with --question")
    return instrument.questions[0].id


def _judged(rows: FileRows, roles: Mapping[str, str], asked: str, traits: Sequence[str]) -> pl.LazyFrame:
    """The rows as judgments with raw values, beside what describes their items (`item.…`) and raters (`rater.…`)."""
    for name in traits:
        check_column(rows.path, list(rows.schema), name)
    for role in ("item", "rater", "question", "condition", "kind"):
        dtype = rows.schema.get(roles.get(role, ""), pl.String())
        if dtype.is_nested() or dtype == pl.Binary:
            problem, remedy = f"the column of the {role} holds lists", "give one value per row"
            raise InputError(problem, file=rows.path, column=roles[role], remedy=remedy)
    lazy, item = (rows.lazy, roles["item"]) if "item" in roles else (_numbered(rows, roles["text"]), "__item")
    columns = {
        "item": _id(rows, item),
        "rater": _id(rows, roles["rater"]),
        "question": pl.col(roles["question"]).cast(pl.String).str.strip_chars() if not asked else pl.lit(asked),
        RAW: pl.col(roles["value"]),
    }
    if "condition" in roles:
        columns["condition"] = pl.col(roles["condition"]).cast(pl.String).fill_null("")
    if "sample" in roles:
        columns["sample"] = _sample(rows, roles["sample"])
    columns |= {role: pl.col(roles[role]).cast(pl.String) for role in ("rationale", "status") if role in roles}
    if SHARES in rows.schema:
        columns["probabilities"] = pl.col(SHARES)
    elif "probabilities" in roles:
        written = pl.col(roles["probabilities"])
        is_text = rows.schema[roles["probabilities"]] == pl.String
        columns["probabilities"] = (written.str.json_decode(pl.List(pl.Float64)) if is_text else written).cast(
            pl.List(pl.Float64)
        )
    columns |= {f"item.{name}": pl.col(column) for name, column in roles.items() if name not in ROLES}
    columns |= {f"rater.{name}": pl.col(name) for name in traits}
    columns |= {"rater.kind": pl.col(roles["kind"])} if "kind" in roles else {}
    judged = lazy.select(ROW, **columns)
    keys = ("item", "rater", "question")
    (empty,) = rows.collect(judged.select(pl.col(ROW).filter(pl.col(key).is_null()).min().alias(key) for key in keys))
    if wrong := next((key for key in keys if empty[key][0] is not None), None):
        remedy = "fill it in, or delete the row if it is not a judgment (a total, for example)"
        raise rows.fault(f"the {wrong} is empty", remedy, empty[wrong][0], roles.get(wrong) or roles["text"])
    return judged


def _check_probabilities(rows: FileRows, judged: pl.LazyFrame, column: str, known: Instrument) -> None:
    """Refuses distributions over more or fewer answers than the scale has; shares of opt-outs may follow."""
    sizes = judged.select(ROW, "question", pl.col("probabilities").list.len().alias("size")).drop_nulls()
    (seen,) = rows.collect(sizes.group_by("question", "size").agg(pl.col(ROW).min()))
    for question, size, first in seen.sort(ROW).iter_rows():
        scale = known.question(question).scale
        answers = len(scale.options)
        if scale.options and not answers <= size <= answers + len(scale.opt_outs):
            problem = f"the shares are of {size} answers, but the scale of question '{question}' has {answers}"
            raise rows.fault(problem, "pass --instrument with the scale", first, column)


def _id(rows: FileRows, column: str) -> pl.Expr:
    """A column of ids as text; whole numbers that a spreadsheet keeps as 1.0 are 1, and too long ones are refused."""
    ids = pl.col(column)
    if column in rows.schema and rows.schema[column].is_float():
        first = pl.col(ROW).filter(ids.abs() >= 2**53).min()
        (seen,) = rows.collect(rows.lazy.select(whole=(ids.drop_nulls() % 1 == 0).all(), too_long=first))
        if seen["too_long"][0] is not None:
            raise _cut(rows, seen["too_long"][0], column)
        ids = ids.cast(pl.Int64) if seen["whole"][0] else ids
    return ids.cast(pl.String)


def _cut(rows: FileRows, number: int, column: str) -> InputError:
    problem = "only the first digits of this id were kept, so different ids may have become one"
    return rows.fault(problem, "export the file again with the ids as text", number, column)


def _numbered(rows: FileRows, text: str) -> pl.LazyFrame:
    """The rows with ids for texts, which are numbered in the order of their first appearance."""
    lazy = rows.lazy.with_columns(pl.col(text).cast(pl.String))
    (texts,) = rows.collect(lazy.drop_nulls(text).group_by(text).agg(pl.col(ROW).min()))
    width = len(str(len(texts)))
    number = (pl.int_range(pl.len()) + 1).cast(pl.String).str.zfill(width)
    ids = texts.sort(ROW).select(text, pl.format("item-{}", number).alias("__item"))
    return lazy.join(ids.lazy(), on=text, how="left", maintain_order="left")


def _sample(rows: FileRows, column: str) -> pl.Expr:
    """The number of the repetition; a cell that is no number is refused."""
    (seen,) = rows.collect(rows.lazy.group_by(column).agg(pl.col(ROW).min()))
    seen = seen.sort(ROW)
    FileTable(rows.path, seen, 0, seen[ROW]).numbers(column)
    number = pl.col(column).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return number.fill_null(0).cast(pl.Int32)


def _answers(
    rows: FileRows, judged: pl.LazyFrame, asked: str, column: str, cleaning: Cleaning, *, labelled: bool
) -> pl.DataFrame:
    """The different answers to each question: raw and clean, how often they occur, and where first.

    They are cleaned for each question separately where some are words, since others may have numbers.
    """
    dtype = rows.schema[column]
    if dtype.is_nested() or dtype == pl.Binary:
        (first,) = rows.collect(judged.filter(pl.col(RAW).is_not_null()).select(pl.col(ROW).min()))
        problem = f"the cell holds {'a list' if dtype != pl.Struct else 'an object'}, not one answer"
        raise rows.fault(problem, "give one row per answer", first.item() or 0, column)
    keys = [RAW] if asked else ["question", RAW]
    (answers,) = rows.collect(judged.group_by(keys).agg(pl.len().alias("count"), pl.col(ROW).min()))
    answers = answers.with_columns(pl.lit(asked).alias("question") if asked else pl.col("question")).sort(ROW)
    raw = answers[RAW]
    if asked or raw.dtype != pl.String or raw.cast(pl.Float64, strict=False).null_count() == 0:
        return answers.with_columns(cleaning.values(rows, column, answers, labelled=labelled))
    parts = [
        part.with_columns(
            cleaning.values(rows, name if rows.cells and column == "__value" else column, part, labelled=labelled)
        )
        for (name,), part in answers.partition_by("question", as_dict=True, maintain_order=True).items()
    ]
    if len({part.schema[CLEAN] for part in parts}) > 1:
        parts = [part.with_columns(pl.col(CLEAN).cast(pl.String)) for part in parts]
    return pl.concat(parts)


def _without_blanks(
    rows: FileRows,
    judged: pl.LazyFrame,
    answers: pl.DataFrame,
    roles: Mapping[str, str],
    cleaning: Cleaning,
    empty: str,
) -> tuple[pl.LazyFrame, pl.DataFrame]:
    """Judgments and answers without empty ones, where these are skipped; what they mean must be known."""
    blank = answers.filter(pl.col(CLEAN).is_null())
    if blank.is_empty() or "status" in roles or empty not in ("", "skip"):
        return judged, answers
    column, count = roles["value"], int(blank["count"].sum())
    if not empty:
        problem = f"the cell is empty{f' ({count:,} in all)' if count > 1 else ''}"
        remedy, first = f"say what an empty value means: --empty {'|'.join(MEANINGS)}", blank[ROW].sort()[0]
        raise rows.doubt(problem, remedy, first, column, empty="skip")
    if not rows.cells:
        cleaning.notes.append(f"{counted(count, 'row')} without a value left out.")
    if len(blank) == len(answers):
        named = None if rows.cells else column
        raise InputError("no row has a value", file=rows.path, column=named, remedy="map another column")
    gone = pl.col(RAW).is_null()
    for (question,), part in blank.drop_nulls(RAW).partition_by("question", as_dict=True).items():
        gone |= (pl.col("question") == question) & pl.col(RAW).is_in(part[RAW].implode())
    return judged.filter(~gone), answers.filter(pl.col(CLEAN).is_not_null())


def _with_trait(rows: FileRows, judged: pl.LazyFrame, name: str, column: str, cleaning: Cleaning) -> pl.LazyFrame:
    """Judgments with a trait of their raters cleaned."""
    dtype = rows.schema[column]
    if dtype.is_nested() or dtype == pl.Boolean:
        return judged
    values = pl.col(f"rater.{name}").alias(RAW)
    (seen,) = rows.collect(judged.group_by(values).agg(pl.len().alias("count"), pl.col(ROW).min()))
    changed = cleaning.trait(rows, column, seen.sort(ROW))
    return judged.with_columns(pl.col(f"rater.{name}").replace(changed)) if changed else judged


def _with_words(
    rows: FileRows, judged: pl.LazyFrame, name: str, labels: Mapping[float, str]
) -> tuple[pl.LazyFrame, TraitScale | None]:
    """Judgments with the words that the file has for the codes of a trait, and its scale, where it has all of them."""
    if not labels:
        return judged, None
    codes = pl.col(f"rater.{name}").cast(pl.Float64, strict=False)
    (seen,) = rows.collect(judged.select(codes.unique().drop_nulls().alias("code")))
    used = sorted(seen["code"])
    words = [labels.get(code, "") for code in used]
    if not used or not all(words) or len(set(words)) < len(words):
        return judged, None
    level = inferred_scale_of(pl.Series(words)).level
    new = codes.replace_strict(used, words, default=None, return_dtype=pl.String)
    return judged.with_columns(new.alias(f"rater.{name}")), TraitScale(level, tuple(words))


def _with_ids(
    rows: FileRows,
    judged: pl.LazyFrame,
    answers: pl.DataFrame,
    roles: Mapping[str, str],
    described: Mapping[str, Sequence[str]],
    cleaning: Cleaning,
) -> tuple[pl.LazyFrame, pl.DataFrame, dict[str, pl.DataFrame]]:
    """Judgments and answers with ids that differ by spaces or case only as one, where the user has said so.

    Beside them each id of items and raters, in the order of the file, with the row where it first occurs.
    """
    keys = ["item", "rater", *(key for key in ("question", "condition") if key in roles)]
    firsts = dict(zip(keys, rows.collect(*(_firsts(judged, key, described.get(key, ())) for key in keys)), strict=True))
    for key in keys:
        ids = firsts[key] = firsts[key].sort(ROW)
        cut = ids.filter(pl.col(key).str.contains("E+", literal=True))
        for number in cut.filter(pl.col(key).str.contains(r"^\d\.\d+E\+\d\d$"))[ROW].head(1):
            raise _cut(rows, number, roles.get(key, ""))
        if key in roles and (changed := cleaning.ids(rows, roles[key], key, ids[key], first_row(ids, key))):
            judged = judged.with_columns(pl.col(key).replace(changed))
            (again,) = rows.collect(_firsts(judged, key, described.get(key, ())))
            firsts[key] = again.sort(ROW)
            if key == "question":
                answers = answers.with_columns(pl.col(key).replace(changed)).unique([key, RAW], maintain_order=True)
    return judged, answers, firsts


def _firsts(judged: pl.LazyFrame, key: str, names: Sequence[str]) -> pl.LazyFrame:
    """Each id with its first row, and the lowest and highest hash of what describes it in all rows.

    Comparing hashes is much cheaper than comparing texts, and enough to see that all rows agree.
    """
    mark = pl.struct(f"{key}.{name}" for name in names).hash() if names else pl.lit(0)
    return judged.group_by(key).agg(pl.col(ROW).min(), mark.min().alias("__low"), mark.max().alias("__high"))


def _side(
    rows: FileRows, judged: pl.LazyFrame, firsts: pl.DataFrame, names: Sequence[str], roles: Mapping[str, str]
) -> pl.DataFrame:
    """One row per item or rater in the order of the file, with the columns that describe it, which must agree."""
    key = firsts.columns[0]
    columns = [f"{key}.{name}" for name in names]
    if not columns:
        return firsts.select(ROW, key)
    for twice in firsts.filter(pl.col("__low") != pl.col("__high"))[key].head(1):
        (part,) = rows.collect(judged.filter(pl.col(key) == twice).select(ROW, *columns))
        part = part.sort(ROW)
        name = next(name for name, column in zip(names, columns, strict=True) if part[column].n_unique() > 1)
        cells = part[f"{key}.{name}"]
        other = part[ROW][cells.ne_missing(cells[0]).arg_max() or 0]
        problem = f"{key} '{twice}' has a different value than in row {rows.at(part[ROW][0])['row']}"
        raise rows.fault(problem, f"make them equal, or give the {key}s different ids", other, roles.get(name, name))
    first = judged.join(firsts.lazy().select(ROW), on=ROW, how="semi", maintain_order="left")
    (side,) = rows.collect(
        first.select(ROW, key, *(pl.col(column).alias(name) for name, column in zip(names, columns, strict=True)))
    )
    if not side[ROW].is_sorted():
        side = side.sort(ROW)
    if len(side) > len(firsts):  # rows that were made of one of the file
        side = side.unique(key, keep="first", maintain_order=True)
    return side.with_columns(numeric(side[name]) for name in names if name not in ("text", "kind"))


def _about(
    rows: FileRows, roles: Mapping[str, str], traits: Sequence[str], cleaning: Cleaning, held: Sequence[str]
) -> About:
    used = {*roles.values(), *traits, *held}
    unused = [column for column in rows.schema if column not in used and not column.startswith("__")]
    named = ", ".join(f"'{column}'" if not column.strip() else column for column in unused)
    notes = [f"Columns that were not read: {named}."] if unused else []
    name = rows.path.name.split(".")[0] or rows.path.name
    return About(name=name, title=name, source=rows.path.name, notes=(*notes, *cleaning.notes))


def _corpus(
    rows: FileRows,
    judged: pl.LazyFrame,
    items: pl.DataFrame,
    raters: pl.DataFrame,
    instrument: Instrument,
    about: About,
    duplicates: Literal["first", "last", "mean"] | None,
) -> Corpus:
    """The checked corpus; the judgments of a streamed file stay on the disk."""
    names = judged.collect_schema().names()
    further = [name for name in ("probabilities",) if name in names]
    judged = with_defaults(judged.select(ROW, *(name for name in schema.JUDGMENTS if name in names), *further))
    judged = judged.select(ROW, *(pl.col(name).cast(dtype) for name, dtype in schema.JUDGMENTS.items()), *further)
    scratch = Scratch() if rows.streamed else None
    if scratch is not None:
        stored = scratch.path / "judgments.parquet"
        judged.sink_parquet(stored)
        judged = pl.scan_parquet(stored)
    if scratch is None or duplicates:
        frame = judged.collect()
        if duplicates:
            if duplicates == "mean":
                _check_means(rows, frame, instrument)
            every, frame = len(frame), schema.resolve_duplicates(frame, duplicates)
            if every > len(frame):
                note = f"{counted(every - len(frame), 'duplicate judgment')} resolved ({duplicates})."
                about = replace(about, notes=(*about.notes, note))
        judged = frame.lazy()
    numbers = {"items": items.lazy(), "raters": raters.lazy(), "judgments": judged}

    def place(table: str, index: int) -> dict[str, Any]:
        at = rows.at(numbers[table].select(ROW).slice(index, 1).collect().item(), "__value")
        return at if rows.cells and table == "judgments" else {"file": at["file"], "row": at["row"]}

    judgments = judged.drop(ROW)
    corpus = Corpus(
        items.drop(ROW),
        raters.drop(ROW),
        judgments if scratch is not None else judgments.collect(),
        instrument,
        about,
        place=place,
        referenced=True,
    )
    corpus.scratch = scratch
    return corpus


def _check_means(rows: FileRows, judged: pl.DataFrame, instrument: Instrument) -> None:
    """Refuses to average answers without an order: the mean of the first and the third word would be the second."""
    unordered = [question.id for question in instrument.questions if not question.scale.ordered]
    answers = judged.filter(pl.col("question").is_in(unordered) & pl.col("value").is_not_null())
    answers = answers.group_by(schema.KEY).agg(pl.col("value").n_unique(), pl.col(ROW).max())
    for first in answers.filter(pl.col("value") > 1)[ROW].sort().head(1):
        problem, row = "duplicate judgments differ, and answers without an order have no mean", rows.at(first)["row"]
        raise InputError(problem, file=rows.path, row=row, remedy="use --duplicates first or last")
