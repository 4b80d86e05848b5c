"""Who the raters are: Prolific's demographic export, or any table with one row per rater.

Both readers give a frame with a column `rater` and one column per trait, ready for `Corpus.join_traits`:

    corpus = corpus.join_traits(read_prolific("prolific_export.csv"))
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.readers.files import read_table
from vantage.corpora.readers.release import ids
from vantage.corpora.readers.table_file import FileTable, numeric

MISSING: Final = frozenset(
    {
        *("data_expired", "data expired", "consent_revoked", "consent revoked", "not available"),
        *("prefer not to say", "prefer not to answer", "rather not say", "nan", "na", "n/a", "null", ""),
    }
)
"""What stands for "not known" in a cell, whatever its case."""

SUBMISSION: Final = frozenset(
    {
        *("submission_id", "session_id", "entered_code", "completion_code", "custom_study_tncs_accepted_at"),
        *("started_at", "started_datetime", "completed_at", "completed_date_time", "reviewed_at"),
        *("reviewed_at_datetime", "archived_at", "total_approvals"),
        *("num_approvals", "num_rejections", "prolific_score"),
    }
)
"""Columns about the submission, not about the person."""

_RATER: Final = ("participant_id", "prolific_id", "prolific_pid")
_BEST_FIRST: Final = ("APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED")


def read_prolific(path: str | Path, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Reads the demographic export of a study on Prolific: one row per participant.

    Column names become lower_snake_case. `DATA_EXPIRED`, `CONSENT_REVOKED`, "Prefer not to say" and the like
    become null; a column whose other cells are all numbers becomes one of numbers. Ids, codes and times of
    the submission are left out. A participant with several submissions is described by the best of them (an
    approved one before one that was returned or timed out), completed from the others.

    Args:
        path: The CSV file.
        encoding: The encoding of the file.
    """
    table = read_table(Path(path), encoding)
    frame = _renamed(table)
    rater = next((name for name in _RATER if name in frame.columns), None)
    if rater is None:
        remedy = "export the demographic data of the study, or name the column with read_traits"
        raise table.fault("there is no column 'Participant id'", remedy)
    own = table.frame.columns[frame.columns.index(rater)]
    status = frame["status"] if "status" in frame.columns else pl.repeat("", len(frame), eager=True)
    rank = status.cast(pl.String).str.to_uppercase().str.replace_all("[_-]", " ")
    best = {name: n for n, name in enumerate(_BEST_FIRST)}
    order = rank.replace_strict(best, default=len(best), return_dtype=pl.Int8)
    kept = [name for name in frame.columns if name not in {rater, "status", "time_taken", *SUBMISSION}]
    traits = pl.DataFrame([ids(table, own).alias("rater"), *(known(frame[name]) for name in kept)])
    best_first = traits.with_columns(order.alias("__order")).sort("__order", maintain_order=True).drop("__order")
    merged = best_first.group_by("rater").agg(pl.all().drop_nulls().first())
    return traits.select(pl.col("rater").unique(maintain_order=True)).join(
        merged, on="rater", how="left", maintain_order="left"
    )


def read_traits(path: str | Path, rater_column: str | None = None, *, encoding: str = "utf-8") -> pl.DataFrame:
    """Reads any table with one row per rater; names and missing values are treated as by `read_prolific`.

    Where the column with the rater's id is not named, it is `rater`; a file that has a participant's id
    instead is taken for an export of Prolific.
    """
    table = read_table(Path(path), encoding)
    if rater_column is None:
        if "rater" not in table.frame.columns and set(map(snake_case, table.frame.columns)) & set(_RATER):
            return read_prolific(path, encoding=encoding)
        if "rater" not in table.frame.columns:
            raise table.fault("there is no column 'rater' for the rater's id", "name the column with --rater")
        rater_column = "rater"
    table.column(rater_column, "the rater's id")
    raters = ids(table, rater_column).alias("rater")
    table.refuse(~raters.is_first_distinct(), rater_column, "duplicate rater '{}'", "keep one row per rater")
    frame = _renamed(table)
    return pl.DataFrame([raters, *(known(frame[name]) for name in frame.columns if name != snake_case(rater_column))])


def known(column: pl.Series) -> pl.Series:
    """A trait with null for everything that says "not known", and as numbers where all of it is numbers.

    >>> import polars as pl
    >>> known(pl.Series("age", ["31", "DATA_EXPIRED", "52"])).to_list()
    [31, None, 52]
    """
    if column.dtype != pl.String:
        return column.fill_nan(None) if column.dtype.is_float() else column
    stripped = column.str.strip_chars()
    missing = stripped.str.to_lowercase().is_in(list(MISSING))
    return numeric(stripped.set(missing.fill_null(False), None))


def snake_case(name: str) -> str:
    """A column's name as the name of a trait.

    >>> snake_case("Ethnicity simplified"), snake_case("countryOfBirth (ISO)")
    ('ethnicity_simplified', 'country_of_birth_iso')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"\W+", "_", parted).strip("_").lower()


def _renamed(table: FileTable) -> pl.DataFrame:
    names = [snake_case(name) or "column" for name in table.frame.columns]
    for index, name in enumerate(names):
        if name in names[:index]:
            both = f"'{table.frame.columns[names.index(name)]}' and '{table.frame.columns[index]}'"
            raise table.fault(f"the columns {both} would both be named '{name}'", "rename one of them")
    return table.frame.rename(dict(zip(table.frame.columns, names, strict=True)))
