"""Any table: one judgment per row, or one column per rater, item or question.

Values may be numbers, or labels of the instrument's scale. Where no instrument is named, a bare one is made
from what stands in the column: whole numbers become an ordinal scale, other numbers a continuous one, words an ordinal
one where their order is known or given, else a nominal one. `cleaning` says what is repaired and what is doubted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import About, Corpus, with_defaults
from vantage.corpora.readers.cleaning import NOTHING, Cleaning, code_of, counted, inferred_scale, plain
from vantage.corpora.readers.files import frame_table, read_table
from vantage.corpora.readers.table_file import Doubt, Table
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import OPT_OUTS, STATUSES, OptOut, Scale

ROLES: Final = ("item", "rater", "value", "question", "rationale", "condition", "sample", "status", "kind")
"""What a column can be mapped to. Any other name, such as text or target, makes a column of the items."""
RATED: Final = ("question", "condition", "sample", "status", "rationale")
MEANINGS: Final = ("skip", *STATUSES[1:])
"""What an empty value can mean."""
SPREAD: Final = ("rater", "item", "question")
"""What the columns of a wide table can be."""
BOOKKEEPING: Final = (
    "Timestamp", "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)", "Finished",
    "RecordedDate", "ResponseId", "RecipientLastName", "RecipientFirstName", "RecipientEmail", "ExternalReference",
    "LocationLatitude", "LocationLongitude", "DistributionChannel", "UserLanguage",
)  # fmt: skip
"""Columns that Qualtrics and Google Forms write beside the answers."""


def read(
    source: Path | Any,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    question: str | None = None,
    traits: Sequence[str] = (),
    instrument: str | Instrument | None = None,
    wide: bool | str = False,
    values: Sequence[str] = (),
    duplicates: Literal["first", "last", "mean"] | None = None,
    empty: str | None = None,
    missing: Sequence[str] = (),
    valid: Sequence[str] = (),
    decimal: Literal[".", ","] | None = None,
    order: Sequence[str] | None = None,
    strip: bool | None = None,
    case: Literal["keep", "fold"] | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    quotes: Literal["literal"] | None = None,
    sheet: str | None = None,
) -> Corpus:
    """Reads a table of any common format, or a frame of any library.

    Args:
        source: The file, or a frame (Polars, pandas, PyArrow …).
        map: From roles (`item`, `rater`, `value`, `text`, `question`, `rationale` …) to columns. A column that
            has the name of its role need not be mapped; any further name makes a column of the items.
        question: The id of the question that was asked, where no column says it.
        traits: Columns that describe the rater.
        instrument: The instrument whose scales the values are on.
        wide: What the columns are where they hold values: `rater` (or true), `item` or `question`.
        values: The columns of a wide table that hold values, as names or patterns such as `Q*`; without it all that
            are not mapped.
        duplicates: What to do with a judgment that stands twice, which is refused otherwise.
        empty: What an empty value means. In a wide table it is skipped; in a long one it must be said.
        missing: Codes that mean that there is no answer, such as -99 or NA.
        valid: Codes that are answers although they look like such codes.
        decimal: The decimal mark, where it is a comma.
        order: Words of the scale from the lowest to the highest.
        strip: Whether spaces around ids mean nothing; where that matters it must be said.
        case: Whether upper and lower case of ids matters (`keep`) or not (`fold`); where that matters it must be said.
        encoding: The encoding of a text file.
        separator: The separator of a CSV file.
        quotes: `literal` where quotation marks in a CSV file are part of the text.
        sheet: The sheet of a spreadsheet.
    """
    if empty is not None and empty not in MEANINGS:
        raise InputError(f"'{empty}' is not a meaning of an empty value", remedy=nearest(empty, MEANINGS))
    if duplicates is not None and duplicates not in ("first", "last", "mean"):
        raise InputError(f"'{duplicates}' does not say what to do", remedy="use first, last or mean")
    spread = "rater" if wide is True else wide or ""
    if spread and spread not in SPREAD:
        raise InputError(f"columns cannot be '{spread}'", remedy=f"use {', '.join(SPREAD)}")
    cleaning = Cleaning(missing, valid, decimal, order, strip, case, empty)
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    if isinstance(source, str | Path):
        whole = read_table(Path(source), encoding, separator=separator, quotes=quotes, sheet=sheet)
    else:
        whole = frame_table(source)
    cleaning.notes += whole.notes
    roles = _roles(whole, dict(map or {}), spread)
    table = _long(whole, roles, traits, spread, values) if spread else whole
    asked = _asked(question, known, roles)
    skips = bool(spread or missing)
    table, frame = _answers(
        table, roles, asked, empty or ("skip" if skips else None), cleaning, labelled=known is not None
    )
    described = {name: column for name, column in roles.items() if name not in ROLES}
    traits_of = {**{name: name for name in traits}, **_mapped(roles, "kind")}
    frame, first = _with_ids(table, frame, roles, cleaning)
    if known is None:
        labels = _labels(whole, roles, spread)
        averaged = _averaged(frame) if duplicates == "mean" else frame
        known = _inferred(table, averaged, roles, whole.path.stem, cleaning, labels, whole.titles)
    frame = _coded(table, frame, roles, known)
    items = _described(table, frame, first["item"], described, cleaning)
    raters = _described(table, frame, first["rater"], traits_of, cleaning)
    judgments = with_defaults(frame.select([c for c in schema.JUDGMENTS if c in frame.columns]))
    if duplicates:
        judgments = schema.resolve_duplicates(schema.conform("judgments", judgments), duplicates)

    def place(_: str, index: int) -> dict[str, Any]:
        told: dict[str, Any] = {"file": whole.path, "row": table.row(index)}
        return {**told, "column": frame[spread][index]} if spread else told

    return Corpus(
        items,
        raters,
        judgments,
        known,
        _about(whole, roles, traits, cleaning, wide=bool(spread)),
        place=place,
        referenced=True,
    )


def _roles(table: Table, mapping: dict[str, str], spread: str) -> dict[str, str]:
    """The column of every role; a column that already has a role's name is found by itself."""
    for role in (*ROLES, "text"):
        if role in table.frame.columns and role not in mapping and role not in mapping.values():
            found = table.frame[role]
            if role == "kind" and (found.dtype != pl.String or not found.drop_nulls().is_in(schema.KINDS).all()):
                continue  # another word for something else
            mapping.setdefault(role, role)
    for role, column in mapping.items():
        table.column(column, f"'{role}'")
    if spread:
        mapping = {role: column for role, column in mapping.items() if role not in (spread, "value")}
    # Where the columns are items, every row is a respondent, and needs no name of its own.
    needed = {"": ["item", "rater", "value"], "rater": ["item"], "question": ["item", "rater"]}.get(spread, [])
    if "text" in mapping and "item" in needed:
        needed.remove("item")
    if missing := [role for role in needed if role not in mapping]:
        columns = ", ".join(f"'{c}'" for c in table.frame.columns[:20])
        raise InputError(
            f"which of the columns {columns} is the {missing[0]}?",
            file=table.path,
            remedy=f"pass --map {missing[0]}=COLUMN",
        )
    return mapping


def _long(table: Table, roles: dict[str, str], traits: Sequence[str], spread: str, values: Sequence[str]) -> Table:
    """One row per judgment, from a table with one column per rater, item or question."""
    if traits and spread == "rater":
        raise InputError(
            "a table with one column per rater has none that describe the rater",
            file=table.path,
            remedy="join them later",
        )
    for trait in traits:
        table.column(trait)
    columns = table.frame.columns
    index = list(dict.fromkeys([*roles.values(), *traits]))
    if wrong := next((name for name in values if not any(fnmatchcase(column, name) for column in columns)), None):
        raise InputError(f"there is no column '{wrong}'", file=table.path, remedy=nearest(wrong, columns))
    patterns = values or ["*"]
    free = [c for c in columns if c not in index and any(fnmatchcase(c, name) for name in patterns)]
    held = [c for c in free if values or c not in BOOKKEEPING]
    if not held:
        raise InputError(
            f"no column is left for {'an' if spread == 'item' else 'a'} {spread}",
            file=table.path,
            remedy="map fewer columns",
        )
    frame = table.frame
    if nested := next((column for column in held if frame.schema[column].is_nested()), None):
        row = table.row(frame[nested].is_not_null().arg_max() or 0)
        raise InputError("the cell holds a list, not one answer", file=table.path, row=row, column=nested)
    rows = frame.with_columns(pl.col(held).cast(pl.String)).with_row_index("__row")
    if spread == "item" and "rater" not in roles:
        width = len(str(len(frame)))
        names = pl.format("respondent-{}", (pl.col("__row") + 1).cast(pl.String).str.zfill(width))
        rows, roles["rater"] = rows.with_columns(names.alias("__rater")), "__rater"
        index = [*index, "__rater"]
    long = rows.unpivot(held, index=["__row", *index], variable_name=f"__{spread}", value_name="__value")
    grid = {column: match for column in held if (match := re.fullmatch(r"(.*\S)\s*\[(.+)\]", column, re.DOTALL))}
    if spread == "item" and len(grid) == len(held) and "question" not in roles:
        # A grid of Google Forms: "How warm is it? [First text]".
        found = long["__item"]
        asked, items = ({c: m[n].strip() for c, m in grid.items()} for n in (1, 2))
        long = long.with_columns(
            found.replace_strict(asked).alias("__question"), found.replace_strict(items).alias("__item")
        )
        roles["question"] = "__question"
    kept = long["__row"] if table.kept is None else table.kept[long["__row"]]
    roles |= {spread: f"__{spread}", "value": "__value"}
    if spread == "item" and "text" not in roles and set(held) <= set(table.titles):
        long = long.with_columns(pl.col("__item").replace_strict(dict(table.titles)).alias("__text"))
        roles["text"] = "__text"
    return replace(table, frame=long.drop("__row"), kept=kept)


def _asked(question: str | None, instrument: Instrument | None, roles: Mapping[str, str]) -> str:
    """The question of a table that has no column for it."""
    if "question" in roles:
        if question is not None:
            raise InputError(
                "the table has a column for the question", remedy="leave --question out or map another column"
            )
        return ""
    if question is not None or instrument is None:
        return question or "value"
    if len(instrument.questions) > 1:
        names = ", ".join(q.id for q in instrument.questions)
        raise InputError(f"instrument '{instrument.id}' asks {names}", remedy="say which with --question")
    return instrument.questions[0].id


def _answers(
    table: Table, roles: Mapping[str, str], asked: str, empty: str | None, cleaning: Cleaning, *, labelled: bool
) -> tuple[Table, pl.DataFrame]:
    """The judgments with their values, cleaned but not yet coded, and what an empty one means."""
    source = table.frame
    item = roles.get("item")
    for role in ("item", "rater", "question", "condition", "kind"):
        if role in roles and (source.schema[roles[role]].is_nested() or source.schema[roles[role]] == pl.Binary):
            raise InputError(
                f"the column of the {role} holds lists",
                file=table.path,
                column=roles[role],
                remedy="give one value per row",
            )
    columns = {
        "item": _id_of(source, item) if item else _numbered(source, roles["text"]),
        "rater": _id_of(source, roles["rater"]),
        "question": pl.lit(asked),
        **{role: pl.col(roles[role]) for role in RATED if role in roles},
        "__value": pl.col(roles["value"]),
    }
    frame = source.select(**columns)
    if "question" in roles:
        frame = frame.with_columns(pl.col("question").cast(pl.String).str.strip_chars())
    for role, column in (
        ("item", item or roles["text"]),
        ("rater", roles["rater"]),
        ("question", roles.get("question")),
    ):
        if column and frame[role].null_count():
            row = table.row(frame[role].is_null().arg_max() or 0)
            raise InputError(f"the {role} is empty", file=table.path, row=row, column=column, remedy="fill it in")
    if "condition" in roles:
        frame = frame.with_columns(pl.col("condition").cast(pl.String).fill_null(""))
    if "sample" in roles:
        frame = frame.with_columns(table.numbers(roles["sample"]).fill_null(0).cast(pl.Int32).alias("sample"))
    frame = frame.with_columns(_cleaned(table, frame, roles, cleaning, labelled=labelled).alias("__value"))
    blank = frame["__value"].is_null()
    if not blank.any() or "status" in roles:
        return table, frame
    if empty is None:
        row = table.row(blank.arg_max() or 0)
        count = f" ({blank.sum():,} in all)" if blank.sum() > 1 else ""
        raise Doubt(
            f"the cell is empty{count}",
            file=table.path,
            row=row,
            column=roles["value"],
            remedy=f"say what an empty value means: --empty {'|'.join(MEANINGS)}",
            settle={"empty": "skip"},
        )
    if empty == "skip":
        kept = (~blank).arg_true()
        if not roles["value"].startswith("__"):
            cleaning.notes.append(f"{counted(int(blank.sum()), 'row')} without a value left out.")
        if not len(kept):
            raise InputError("no row has a value", file=table.path, column=roles["value"], remedy="map another column")
        rows = kept if table.kept is None else table.kept[kept]
        return replace(table, frame=source[kept], kept=rows), frame[kept]
    status = pl.when(pl.col("__value").is_null()).then(pl.lit(empty)).otherwise(pl.lit("answered"))
    return table, frame.with_columns(status.cast(schema.STATUS).alias("status"))


def _cleaned(
    table: Table, frame: pl.DataFrame, roles: Mapping[str, str], cleaning: Cleaning, *, labelled: bool
) -> pl.Series:
    """The values, cleaned; each question for itself where some are words, since others may have numbers."""
    values, column = frame["__value"], roles["value"]
    questions = frame["question"].unique(maintain_order=True)
    if values.dtype != pl.String or len(questions) < 2 or values.cast(pl.Float64, strict=False).null_count() == 0:
        return cleaning.values(table, column, values, labelled=labelled)
    parts = []
    for question in questions:
        name = question if roles.get("question") == "__question" and column == "__value" else column
        own = pl.select(pl.when(frame["question"] == question).then(values)).to_series()
        parts.append(cleaning.values(table, name, own, labelled=labelled))
    if all(part.dtype == pl.Float64 for part in parts):
        return pl.select(pl.coalesce(parts)).to_series()
    return pl.select(pl.coalesce(part.cast(pl.String) for part in parts)).to_series()


def _id_of(source: pl.DataFrame, column: str) -> pl.Expr:
    """A column of ids as text; whole numbers that a spreadsheet keeps as 1.0 are 1."""
    ids = source[column]
    if ids.dtype.is_float() and bool((ids.drop_nulls() % 1 == 0).all()):
        return pl.col(column).cast(pl.Int64).cast(pl.String)
    return pl.col(column).cast(pl.String)


def _with_ids(
    table: Table, frame: pl.DataFrame, roles: Mapping[str, str], cleaning: Cleaning
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """The judgments with ids that differ by spaces or case only as one, where the user has said so.

    Beside them every item and rater, in the order of the rows in which they first stand.
    """
    # The two do not depend on each other, and Polars does not hold the interpreter while it works.
    with ThreadPoolExecutor(2) as pool:
        sides = {key: pool.submit(_firsts, frame, key) for key in ("item", "rater")}
        first = {key: side.result() for key, side in sides.items()}
    for role in ("item", "rater", "question", "condition"):
        if role not in roles:
            continue
        ids = first[role][role] if role in first else frame[role].unique()
        if changed := cleaning.ids(table, roles[role], role, ids, _where(table, frame[role])):
            frame = frame.with_columns(pl.col(role).replace(changed))
            first |= {role: _firsts(frame, role)} if role in first else {}
    return frame, first


def _firsts(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    # Grouping runs on all cores, which finding the first of each name in order does not.
    rows = frame.lazy().select(key).with_row_index("__row").group_by(key).agg(pl.col("__row").min())
    return rows.sort("__row").collect()


def _where(table: Table, column: pl.Series) -> Callable[[Any], int]:
    """In which row of the file a value first stands."""
    return lambda value: table.row((column == value).arg_max() or 0)


def _numbered(source: pl.DataFrame, text: str) -> pl.Expr:
    """Ids for a table without any: texts are numbered in the order of their first appearance."""
    texts = source[text].cast(pl.String).unique(maintain_order=True).drop_nulls()
    width = len(str(len(texts)))
    ids = [f"item-{n:0{width}}" for n in range(1, len(texts) + 1)]
    return pl.col(text).cast(pl.String).replace_strict(texts, ids, default=None, return_dtype=pl.String)


def _averaged(frame: pl.DataFrame) -> pl.DataFrame:
    """Judgments that stand twice as the one that they become, so that the scale has room for their mean."""
    if frame["__value"].dtype != pl.Float64:
        return frame
    key = [column for column in schema.KEY if column in frame.columns]
    others = [pl.col(column).first() for column in frame.columns if column not in (*key, "__value")]
    return frame.group_by(key, maintain_order=True).agg(pl.col("__value").mean(), *others)


def _inferred(
    table: Table,
    frame: pl.DataFrame,
    roles: Mapping[str, str],
    name: str,
    cleaning: Cleaning,
    labels: Callable[[str], Mapping[float, str]],
    titles: Mapping[str, str],
) -> Instrument:
    """A bare instrument with a scale for every question that the table has."""
    declined = frame["status"].cast(pl.String).unique().to_list() if "status" in frame.columns else []
    opt_outs = tuple(OptOut(status, status.replace("_", " ")) for status in OPT_OUTS if status in declined)
    scales: dict[str, Scale] = {}
    seen = schema.distinct(frame, ["question", "__value"]).sort("question")

    def fail(value: str, problem: str) -> InputError:
        index = (frame["__value"].cast(pl.String) == value).arg_max() or 0
        place: dict[str, Any] = {"file": table.path, "row": table.row(index), "column": _column_at(frame, roles, index)}
        return InputError(f"'{value}' {problem}", remedy="correct the cell, or map another column to value", **place)

    for (question,), part in seen.partition_by("question", as_dict=True, maintain_order=True).items():
        values = part["__value"].drop_nulls()
        if values.dtype == pl.String and frame["__value"].dtype == pl.String:
            numbers = values.cast(pl.Float64, strict=False)
            # One question of several may have numbers where others have words.
            values = numbers if numbers.null_count() == 0 else values
        if values.dtype == pl.Float64 and not labels(str(question)):
            cleaning.check_far(
                table, roles["value"], values, _where(table, frame["__value"].cast(pl.Float64, strict=False))
            )
        scales[str(question)] = inferred_scale(cleaning, str(question), values, labels(str(question)), opt_outs, fail)
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")[:60] or "table"
    return Instrument.of_questions(slug, name, scales)


def _labels(table: Table, roles: Mapping[str, str], spread: str) -> Callable[[str], Mapping[float, str]]:
    """The words for the codes of a question, where the file has them."""
    if spread == "question":
        return lambda question: table.labels.get(question, {})
    column = roles["value"]
    if column in table.labels:
        return lambda _: table.labels[column]
    every = [table.labels[c] for c in table.frame.columns if c in table.labels and c not in roles.values()]
    return lambda _: every[0] if spread and every and all(words == every[0] for words in every) else {}


def _column_at(frame: pl.DataFrame, roles: Mapping[str, str], index: int) -> str:
    """The column of the file in which a value stands."""
    if roles["value"] != "__value":
        return roles["value"]
    return str(next(frame[role][index] for role in SPREAD if roles.get(role) == f"__{role}"))


def _coded(table: Table, frame: pl.DataFrame, roles: Mapping[str, str], instrument: Instrument) -> pl.DataFrame:
    """Values as codes of their scales: numbers as they are, labels and opt-outs by the instrument."""
    raw = frame["__value"]
    value = raw.cast(pl.Float64, strict=False)
    words = value.is_null() & raw.is_not_null()
    if words.any():
        frame = frame.with_columns(value.alias("value"), words.alias("__word"))
        return _labelled(table, frame, roles, instrument)
    frame = frame.with_columns(value.alias("value"))
    return frame if "status" not in roles else _with_status(table, frame, roles["status"])


def _labelled(table: Table, frame: pl.DataFrame, roles: Mapping[str, str], instrument: Instrument) -> pl.DataFrame:
    codes: list[dict[str, Any]] = []
    seen = frame.filter("__word").select("question", pl.col("__value").cast(pl.String)).unique().sort(pl.all())
    for question, word in seen.iter_rows():
        scale = instrument.question(question).scale
        code = code_of(scale, word)
        wanted = word.strip().casefold().replace("_", " ")
        names = {o.label.casefold(): o.status for o in scale.opt_outs} | {
            o.status.replace("_", " "): o.status for o in scale.opt_outs
        }
        if code is None and wanted not in names:
            index = ((frame["question"] == question) & (frame["__value"].cast(pl.String) == word)).arg_max() or 0
            raise InputError(
                f"'{word}' is neither a number nor an answer of question '{question}', which is {scale.describe()}",
                file=table.path,
                row=table.row(index),
                column=_column_at(frame, roles, index),
                remedy=f"correct the cell, or pass --missing '{word}' if it means that there is no answer",
            )
        codes.append({"question": question, "__value": word, "__code": code, "__status": names.get(wanted)})
    looked_up = pl.DataFrame(
        codes,
        schema={"question": pl.String, "__value": pl.String, "__code": pl.Float64, "__status": pl.String},
    )
    status = pl.col("status").cast(pl.String) if "status" in frame.columns else pl.lit("answered")
    return (
        frame.with_columns(pl.col("__value").cast(pl.String))
        .join(looked_up, on=["question", "__value"], how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("value", "__code").alias("value"),
            pl.coalesce("__status", status).cast(schema.STATUS).alias("status"),
        )
    )


def _with_status(table: Table, frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """A status column of the table; an empty status is `answered` where there is a value."""
    status = frame["status"].cast(pl.String).str.strip_chars().str.to_lowercase()
    status = pl.select(
        pl.when(status.is_null() & frame["value"].is_not_null()).then(pl.lit("answered")).otherwise(status)
    ).to_series()
    wrong = status.is_null() | ~status.is_in(list(STATUSES))
    if wrong.any():
        index = wrong.arg_max() or 0
        told = "the cell is empty" if status[index] is None else f"'{status[index]}' is not a status"
        raise InputError(
            told,
            file=table.path,
            row=table.row(index),
            column=column,
            remedy=f"use one of {', '.join(STATUSES)}",
        )
    return frame.with_columns(status.cast(schema.STATUS).alias("status"))


def _described(
    table: Table, frame: pl.DataFrame, found: pl.DataFrame, columns: Mapping[str, str], cleaning: Cleaning
) -> pl.DataFrame:
    """One row per item or rater, with the columns that describe it; they must agree wherever it stands."""
    key = found.columns[0]
    for column in columns.values():
        table.column(column)
    if not columns:
        return found.select(key)
    side = pl.DataFrame([frame[key], *(table.frame[column].alias(name) for name, column in columns.items())])
    if key == "rater":
        side = side.with_columns(_trait(table, side[name], column, cleaning) for name, column in columns.items())
    rows = side[found["__row"]]
    # Counting hashes is much cheaper than comparing the texts themselves, and enough to see that all agree.
    if side.select(pl.struct(pl.all()).hash().n_unique()).item() > len(rows):
        rows = side.unique(maintain_order=True)
        twice = rows[key].filter(rows[key].is_duplicated())[0]
        index = (side[key] == twice).arg_true()
        for name, column in columns.items():
            cells = side[name][index]
            if cells.n_unique() > 1:
                row = table.row(int(index[int((cells.ne_missing(cells[0])).arg_max() or 0)]))
                raise InputError(
                    f"{key} '{twice}' has another value here than in row {table.row(int(index[0]))}",
                    file=table.path,
                    row=row,
                    column=column,
                    remedy=f"make them equal, or give the {key}s different ids",
                )
    return rows.with_columns(_typed(rows[name]) for name in columns if name not in ("text", "kind"))


def _trait(table: Table, values: pl.Series, column: str, cleaning: Cleaning) -> pl.Series:
    """A trait of raters without codes for missing, its spellings joined where the user has said so."""
    if values.dtype.is_nested() or values.dtype == pl.Boolean:
        return values
    different = values.unique().drop_nulls()
    gone = [value for value in different if cleaning.is_missing(value)] if cleaning.missing else []
    if gone:
        cleaning.noted(int(values.is_in(gone).sum()), column, [str(value) for value in gone])
        values = pl.select(pl.when(~values.is_in(gone)).then(values).alias(values.name)).to_series()
        different = different.filter(~different.is_in(gone))
    words = different.cast(pl.String)
    numbers = words.cast(pl.Float64, strict=False)
    odd = words.filter(numbers.is_null() | numbers.is_nan())
    where = _where(table, values)
    doubtful = [word for word in odd if plain(word) in NOTHING and plain(word) not in cleaning.valid]
    if 0 < len(doubtful) == len(odd) < len(words):
        raise Doubt(
            f"'{odd[0]}' may mean that this is not known",
            file=table.path,
            row=where(odd[0]),
            column=column,
            remedy=f"pass {cleaning.also(doubtful)}, or --valid={','.join(doubtful)}",
            settle={"missing": doubtful},
        )
    if not len(odd):
        cleaning.check_far(table, column, numbers, _where(table, values.cast(pl.Float64)))
    if values.dtype == pl.String and (changed := cleaning.ids(table, column, column, words, where)):
        values = values.replace(changed)
    return values


def _typed(column: pl.Series) -> pl.Series:
    """A column of text as numbers where every cell is one."""
    if column.dtype != pl.String or column.null_count() == len(column):
        return column
    for dtype in (pl.Int64, pl.Float64):
        cast = column.cast(dtype, strict=False)
        if cast.null_count() == column.null_count():
            return cast
    return column


def _mapped(roles: Mapping[str, str], role: str) -> dict[str, str]:
    return {role: roles[role]} if role in roles else {}


def _about(table: Table, roles: Mapping[str, str], traits: Sequence[str], cleaning: Cleaning, *, wide: bool) -> About:
    used = {*roles.values(), *traits}
    unused = [] if wide else [column for column in table.frame.columns if column not in used]
    named = ", ".join(f"'{column}'" if not column.strip() else column for column in unused)
    notes = [f"Columns that were not read: {named}."] if unused else []
    name = table.path.name.split(".")[0] or table.path.name
    return About(name=name, title=name, source=table.path.name, notes=(*notes, *cleaning.notes))
