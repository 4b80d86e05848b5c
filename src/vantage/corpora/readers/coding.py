"""The different answers of a table as codes: on the scales of an instrument, or on scales inferred from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from vantage.corpora import schema
from vantage.corpora.readers.cleaning import CLEAN, RAW, Cleaning, code_of, inferred_scale
from vantage.corpora.readers.columns import two_names
from vantage.corpora.readers.table_file import ROW, FileRows
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import OPT_OUTS, STATUSES, OptOut, Scale


def first_row(frame: pl.DataFrame, column: str) -> Callable[[Any], int]:
    """In which row a value first occurs."""
    return lambda value: int(frame.filter(pl.col(column) == value)[ROW].min() or 0)  # type: ignore[arg-type]


def _looked_up(judged: pl.LazyFrame, answers: pl.DataFrame, *columns: str) -> pl.LazyFrame:
    """Judgments with columns of the answers that they are."""
    keys = ["question", RAW] if answers["question"].n_unique() > 1 else [RAW]
    columns_of = answers.select(*keys, *columns).lazy()
    return judged.join(columns_of, on=keys, how="left", nulls_equal=True, maintain_order="left")


def averaged(rows: FileRows, judged: pl.LazyFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The answers after duplicate judgments were averaged, so that the scale has room for their means."""
    if answers[CLEAN].dtype != pl.Float64:
        return answers
    names = judged.collect_schema().names()
    key = [column for column in schema.KEY if column in names]
    means = _looked_up(judged, answers, CLEAN).group_by(key).agg(pl.col(CLEAN).mean(), pl.col(ROW).min())
    (averaged,) = rows.collect(means.group_by("question", CLEAN).agg(pl.col(ROW).min()))
    return averaged


def opt_outs_of(
    rows: FileRows, judged: pl.LazyFrame, answers: pl.DataFrame, roles: Mapping[str, str], empty: str | None
) -> tuple[OptOut, ...]:
    """The ways to decline that occur."""
    declined = {empty} if answers[CLEAN].null_count() else set()
    if "status" in roles:
        (seen,) = rows.collect(judged.select(pl.col("status").unique()))
        declined = set(seen["status"])
    return tuple(OptOut(status, status.replace("_", " ")) for status in OPT_OUTS if status in declined)


def inferred(
    rows: FileRows,
    answers: pl.DataFrame,
    column: str,
    cleaning: Cleaning,
    labels: Callable[[str], Mapping[float, str]],
    opt_outs: tuple[OptOut, ...],
) -> Instrument:
    """A bare instrument with a scale for every question that the table has."""
    scales: dict[str, Scale] = {}

    def fail(value: str, problem: str) -> InputError:
        first = first_row(answers.with_columns(pl.col(CLEAN).cast(pl.String)), CLEAN)(value)
        return rows.fault(f"'{value}' {problem}", "correct the cell, or map another column to value", first, column)

    for (name,), part in answers.sort("question").partition_by("question", as_dict=True, maintain_order=True).items():
        question = str(name)
        # One question of several may have numbers where others have words.
        numbers = part.drop_nulls(CLEAN).with_columns(pl.col(CLEAN).cast(pl.Float64, strict=False))
        values = part[CLEAN].drop_nulls() if numbers[CLEAN].null_count() else numbers[CLEAN]
        if values.dtype == pl.Float64 and not labels(question):
            cleaning.check_far(rows, column, values, first_row(numbers, CLEAN))
            if "count" in numbers.columns:
                counts = numbers.group_by(CLEAN).agg(pl.col("count").sum())
                cleaning.check_ends(rows, column, dict(counts.iter_rows()), first_row(numbers, CLEAN))
        scales[question] = inferred_scale(cleaning, question, values, labels(question), opt_outs, fail)
    return bare(rows, scales)


def bare(rows: FileRows, scales: Mapping[str, Scale]) -> Instrument:
    """An instrument that has nothing but questions on these scales, called like the file."""
    name = rows.path.stem
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")[:60] or "table"
    return Instrument.of_questions(slug, name, dict(scales))


def labels_of(
    rows: FileRows, roles: Mapping[str, str], spread: str, held: Sequence[str]
) -> Callable[[str], Mapping[float, str]]:
    """The words for the codes of a question, where the file has them."""
    if spread == "question":
        return lambda question: rows.labels.get(question, {})
    if (column := roles["value"]) in rows.labels:
        return lambda _: rows.labels[column]

    def shared(question: str) -> Mapping[float, str]:
        own = [name for name in held if "," in spread and question in (two_names(name) or ())] or held
        every = [rows.labels.get(name, {}) for name in own]
        return every[0] if every and all(words == every[0] for words in every) else {}

    return shared


def coded(
    rows: FileRows,
    judged: pl.LazyFrame,
    answers: pl.DataFrame,
    roles: Mapping[str, str],
    instrument: Instrument,
    empty: str | None,
) -> pl.LazyFrame:
    """Judgments with their values as codes of the scales, and with a status where not all are answered."""
    answers = answers.with_columns(
        pl.col(CLEAN).cast(pl.Float64, strict=False).alias("value"), pl.lit(None, dtype=pl.String).alias("__status")
    )
    if answers["value"].null_count() > answers[CLEAN].null_count():
        answers = _labelled(rows, answers, roles["value"], instrument)
    value = pl.col("value")
    plain = _plain_numbers(answers)
    if plain is not None:
        judged = judged.with_columns(plain.alias("value"), pl.lit(None, dtype=pl.String).alias("__status"))
    else:
        judged = _looked_up(judged, answers, "value", "__status")
    if "status" in roles:
        written = pl.col("status").str.strip_chars().str.to_lowercase()
        written = pl.when(written.is_null() & value.is_not_null()).then(pl.lit("answered")).otherwise(written)
        judged = judged.with_columns(pl.coalesce("__status", written).alias("status"))
        _check_statuses(rows, judged, roles["status"], instrument)
    elif answers["value"].null_count():
        declined = pl.when(value.is_null()).then(pl.lit(empty)).otherwise(pl.lit("answered"))
        judged = judged.with_columns(pl.coalesce("__status", declined).alias("status"))
    return judged


def _plain_numbers(answers: pl.DataFrame) -> pl.Expr | None:
    """The values by reading the raw cells as numbers, where that is all there is to do apart from missing codes."""
    raw = pl.col(RAW)
    if not (answers.schema[RAW].is_numeric() or answers.schema[RAW] == pl.Boolean):
        raw = raw.cast(pl.String)
    number = raw.cast(pl.Float64, strict=False)
    read = answers.select(number).to_series()
    gone = read.filter(answers["value"].is_null()).drop_nulls()
    if not (answers["value"].is_null() | read.eq_missing(answers["value"])).all() or not gone.is_finite().all():
        return None
    return pl.when(~number.is_in(gone.implode())).then(number) if len(gone) else number


def _labelled(rows: FileRows, answers: pl.DataFrame, column: str, instrument: Instrument) -> pl.DataFrame:
    """Answers with the codes of their words, or the status that they are for."""
    codes: list[float | None] = []
    statuses: list[str | None] = []
    for question, word, value, first in answers.select("question", CLEAN, "value", ROW).iter_rows():
        code, status = value, None
        if value is None and word is not None:
            scale = instrument.question(question).scale
            code = code_of(scale, word)
            declined = {o.label.casefold(): o.status for o in scale.opt_outs}
            declined |= {o.status.replace("_", " "): o.status for o in scale.opt_outs}
            status = declined.get(word.strip().casefold().replace("_", " ")) if code is None else None
            if code is None and status is None:
                # A comma in the option would part codes that are answers of their own.
                other = f", or pass --missing '{word}' if it means that there is no answer" if "," not in word else ""
                what = f"an answer of question '{question}', which is {scale.describe()}"
                raise rows.fault(f"'{word}' is neither a number nor {what}", f"correct the cell{other}", first, column)
        codes.append(code)
        statuses.append(status)
    return answers.with_columns(pl.Series("value", codes, pl.Float64), pl.Series("__status", statuses, pl.String))


def _check_statuses(rows: FileRows, judged: pl.LazyFrame, column: str, instrument: Instrument) -> None:
    own = [opt_out.status for question in instrument.questions for opt_out in question.scale.opt_outs]
    known = list(dict.fromkeys([*STATUSES, *own]))
    (seen,) = rows.collect(judged.group_by("status").agg(pl.col(ROW).min()))
    wrong = seen.filter(~pl.col("status").is_in(known) | pl.col("status").is_null()).sort(ROW)
    for status, first in wrong.head(1).iter_rows():
        problem = "the cell is empty" if status is None else f"'{status}' is not a status"
        raise rows.fault(problem, f"use one of {', '.join(known)}", first, column)
