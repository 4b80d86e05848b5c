"""Any table: one judgment per row, or one column per rater.

Values may be numbers, or labels of the instrument's scale. Where no instrument is named, a bare one is made
from what stands in the column: whole numbers become an ordinal scale, other numbers a continuous one, words a
nominal one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import schema
from vantage.corpora.corpus import About, Corpus, with_defaults
from vantage.corpora.readers.files import Table, read_table
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.scales import OPT_OUTS, STATUSES, Option, OptOut, Scale

ROLES: Final = ("item", "rater", "value", "question", "rationale", "condition", "sample", "status", "kind")
"""What a column can be mapped to. Any other name, such as text or target, makes a column of the items."""
RATED: Final = ("question", "condition", "sample", "status", "rationale")
MANY: Final = 200
"""More different whole numbers than this make a continuous scale."""
MEANINGS: Final = ("skip", *STATUSES[1:])
"""What an empty value can mean."""


def read(
    path: Path,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    question: str | None = None,
    traits: Sequence[str] = (),
    instrument: str | Instrument | None = None,
    wide: bool = False,
    duplicates: Literal["first", "last", "mean"] | None = None,
    empty: str | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Reads a CSV, TSV, JSON Lines, JSON or Parquet file.

    Args:
        path: The file.
        map: From roles (`item`, `rater`, `value`, `text`, `question`, `rationale` …) to columns. A column that
            has the name of its role need not be mapped; any further name makes a column of the items.
        question: The id of the question that was asked, where no column says it.
        traits: Columns that describe the rater.
        instrument: The instrument whose scales the values are on.
        wide: One column per rater: all columns that are not mapped hold values.
        duplicates: What to do with a judgment that stands twice, which is refused otherwise.
        empty: What an empty value means. In a wide table it is skipped; in a long one it must be said.
        encoding: The encoding of a text file.
    """
    if empty is not None and empty not in MEANINGS:
        raise InputError(f"'{empty}' is not a meaning of an empty value", remedy=nearest(empty, MEANINGS))
    if duplicates is not None and duplicates not in ("first", "last", "mean"):
        raise InputError(f"'{duplicates}' does not say what to do", remedy="use first, last or mean")
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    source = read_table(Path(path), encoding)
    roles = _roles(source, dict(map or {}), wide=wide)
    table = _long(source, roles, traits) if wide else source
    asked = _asked(question, known, roles)
    table, frame = _answers(table, roles, asked, empty or ("skip" if wide else None))
    if known is None:
        known = _inferred(table, _averaged(frame) if duplicates == "mean" else frame, roles, Path(path).stem)
    frame = _coded(table, frame, roles, known)
    described = {name: column for name, column in roles.items() if name not in ROLES}
    traits_of = {**{name: name for name in traits}, **_mapped(roles, "kind")}
    # The two do not depend on each other, and Polars does not hold the interpreter while it works.
    with ThreadPoolExecutor(2) as pool:
        sides = [pool.submit(_described, table, frame, *one) for one in (("item", described), ("rater", traits_of))]
        items, raters = (side.result() for side in sides)
    judgments = with_defaults(frame.select([c for c in schema.JUDGMENTS if c in frame.columns]))
    if duplicates:
        judgments = schema.resolve_duplicates(schema.conform("judgments", judgments), duplicates)

    def place(_: str, index: int) -> dict[str, Any]:
        told: dict[str, Any] = {"file": source.path, "row": table.row(index)}
        return {**told, "column": frame["rater"][index]} if wide else told

    return Corpus(
        items,
        raters,
        judgments,
        known,
        _about(source, roles, traits, wide=wide),
        place=place,
        referenced=True,
    )


def _roles(table: Table, mapping: dict[str, str], *, wide: bool) -> dict[str, str]:
    """The column of every role; a column that already has a role's name is found by itself."""
    for role in (*ROLES, "text"):
        if role in table.frame.columns and role not in mapping and role not in mapping.values():
            mapping.setdefault(role, role)
    for role, column in mapping.items():
        table.column(column, f"'{role}'")
    if wide:
        mapping = {role: column for role, column in mapping.items() if role not in ("rater", "value")}
    needed = ["item"] if wide else ["item", "rater", "value"]
    if "text" in mapping:
        needed.remove("item")
    if missing := [role for role in needed if role not in mapping]:
        columns = ", ".join(f"'{c}'" for c in table.frame.columns[:20])
        raise InputError(
            f"which of the columns {columns} is the {missing[0]}?",
            file=table.path,
            remedy=f"pass --map {missing[0]}=COLUMN",
        )
    return mapping


def _long(table: Table, roles: dict[str, str], traits: Sequence[str]) -> Table:
    """One row per judgment, from a table with one column per rater."""
    if traits:
        raise InputError(
            "a wide table has no columns that describe the rater", file=table.path, remedy="join them later"
        )
    index = list(dict.fromkeys(roles.values()))
    raters = [column for column in table.frame.columns if column not in index]
    if not raters:
        raise InputError("no column is left for a rater", file=table.path, remedy="map fewer columns")
    rows = table.frame.with_columns(pl.col(raters).cast(pl.String)).with_row_index("__row")
    long = rows.unpivot(raters, index=["__row", *index], variable_name="__rater", value_name="__value")
    kept = long["__row"] if table.kept is None else table.kept[long["__row"]]
    roles |= {"rater": "__rater", "value": "__value"}
    return Table(table.path, long.drop("__row"), table.first_row, kept)


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


def _answers(table: Table, roles: Mapping[str, str], asked: str, empty: str | None) -> tuple[Table, pl.DataFrame]:
    """The judgments with their values as they stand, and what an empty one means."""
    source = table.frame
    item = roles.get("item")
    columns = {
        "item": pl.col(item).cast(pl.String) if item else _numbered(source, roles["text"]),
        "rater": pl.col(roles["rater"]).cast(pl.String),
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
    if frame["__value"].dtype == pl.Boolean:
        frame = frame.with_columns(pl.col("__value").cast(pl.Int8))
    # Most columns are numbers throughout, and are read as such once and for all; what is not is explained later.
    numbers = frame["__value"].cast(pl.Float64, strict=False)
    if numbers.null_count() == frame["__value"].null_count() and numbers.is_finite().all():
        frame = frame.with_columns(numbers)
    blank = frame["__value"].is_null()
    if not blank.any() or "status" in roles:
        return table, frame
    if empty is None:
        row = table.row(blank.arg_max() or 0)
        count = f" ({blank.sum():,} in all)" if blank.sum() > 1 else ""
        raise InputError(
            f"the cell is empty{count}",
            file=table.path,
            row=row,
            column=roles["value"],
            remedy=f"say what an empty value means: --empty {'|'.join(MEANINGS)}",
        )
    if empty == "skip":
        kept = (~blank).arg_true()
        return Table(
            table.path, source[kept], table.first_row, kept if table.kept is None else table.kept[kept]
        ), frame[kept]
    status = pl.when(pl.col("__value").is_null()).then(pl.lit(empty)).otherwise(pl.lit("answered"))
    return table, frame.with_columns(status.cast(schema.STATUS).alias("status"))


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


def _inferred(table: Table, frame: pl.DataFrame, roles: Mapping[str, str], name: str) -> Instrument:
    """A bare instrument with a scale for every question that the table has."""
    declined = frame["status"].cast(pl.String).unique().to_list() if "status" in frame.columns else []
    opt_outs = tuple(OptOut(status, status.replace("_", " ")) for status in OPT_OUTS if status in declined)
    scales: dict[str, Scale] = {}
    seen = schema.distinct(frame, ["question", "__value"]).sort("question")
    for (question,), part in seen.partition_by("question", as_dict=True, maintain_order=True).items():
        scales[str(question)] = _scale_of(table, roles["value"], part["__value"].drop_nulls(), opt_outs)
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")[:60] or "table"
    return Instrument.of_questions(slug, name, scales)


def _scale_of(table: Table, column: str, values: pl.Series, opt_outs: tuple[OptOut, ...]) -> Scale:
    numbers = values.cast(pl.Float64, strict=False)
    words = numbers.is_null()
    if words.any() and not words.all():
        odd = values.filter(words).sort()[0]
        row = table.row((table.frame[column] == odd).arg_max() or 0)
        raise InputError(
            f"'{odd}' is not a number, although other cells are",
            file=table.path,
            row=row,
            column=column,
            remedy="correct the cell",
        )
    if len(values) and words.all():
        labels = values.cast(pl.String).str.strip_chars().unique().sort().to_list()
        labels = labels if len(labels) > 1 else [f"not {labels[0]}", labels[0]]
        return Scale(tuple(Option(float(code), label) for code, label in enumerate(labels)), "nominal", opt_outs)
    numbers = numbers.unique().sort()
    if numbers.is_nan().any() or numbers.is_infinite().any():
        odd = values.filter(values.cast(pl.Float64).is_nan() | values.cast(pl.Float64).is_infinite())[0]
        row = table.row((table.frame[column] == odd).arg_max() or 0)
        raise InputError(
            f"'{odd}' is not a finite number",
            file=table.path,
            row=row,
            column=column,
            remedy="correct the cell",
        )
    codes = numbers.to_list() or [0.0, 1.0]
    low, high = codes[0], codes[-1]
    if any(code % 1 for code in codes) or high - low > MANY:
        return Scale(level="interval", opt_outs=opt_outs, range=(low, high if high > low else low + 1))
    if low == high:
        low, high = min(low, 0.0), max(high, 1.0)
    level: Literal["nominal", "ordinal"] = "nominal" if (low, high) == (0, 1) else "ordinal"
    labelled = {int(code): f"{code:g}" for code in (low, high)} if level == "nominal" else {}
    return Scale.points(int(low), int(high), anchors=labelled, level=level, opt_outs=opt_outs)


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
        code = scale.code(word)
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
                column=frame["rater"][index] if roles["value"] == "__value" else roles["value"],
                remedy="correct the cell",
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


def _described(table: Table, frame: pl.DataFrame, key: str, columns: Mapping[str, str]) -> pl.DataFrame:
    """One row per item or rater, with the columns that describe it; they must agree wherever it stands."""
    for column in columns.values():
        table.column(column)
    # Grouping runs on all cores, which finding the first of each name in order does not.
    first = frame.lazy().select(key).with_row_index("__row").group_by(key).agg(pl.col("__row").min()).sort("__row")
    found = first.collect()
    if not columns:
        return found.select(key)
    side = pl.DataFrame([frame[key], *(table.frame[column].alias(name) for name, column in columns.items())])
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


def _about(table: Table, roles: Mapping[str, str], traits: Sequence[str], *, wide: bool) -> About:
    used = {*roles.values(), *traits}
    unused = [] if wide else [column for column in table.frame.columns if column not in used]
    notes = (f"Columns that were not read: {', '.join(unused)}.",) if unused else ()
    return About(name=table.path.stem, title=table.path.stem, source=table.path.name, notes=notes)
