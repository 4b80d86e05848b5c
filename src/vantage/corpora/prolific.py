"""Who the raters are: Prolific's demographic export, or any table with one row per rater.

The reader gives a frame with a column `rater` and one column per trait, ready for `Corpus.join_traits`:

    corpus = corpus.join_traits(read_traits("prolific_export.csv"))
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


def read_traits(path: str | Path, rater_column: str | None = None) -> pl.DataFrame:
    """Reads the demographic export of a study on Prolific, or any table with one row per rater.

    Column names become lower_snake_case. `DATA_EXPIRED`, `CONSENT_REVOKED`, "Prefer not to say" and the like become
    null; a column whose other cells are all numbers becomes one of numbers.

    Of an export of Prolific, which has a participant's id and no column `rater`, ids, codes and times of the submission
    are left out. A participant with several submissions is described by the best of them (an approved one before one
    that was returned or timed out), completed from the others.

    Args:
        path: The file.
        rater_column: The column with the rater's id; `rater` without it.
    """
    table = read_table(Path(path))
    frame = _renamed(table)
    exported = next((name for name in _RATER if name in frame.columns), None)
    if rater_column is None and "rater" not in table.frame.columns and exported is not None:
        return _prolific(table, frame, exported)
    if rater_column is None and "rater" not in table.frame.columns:
        raise table.fault("there is no column 'rater' for the rater's id", "name the column with --rater")
    own = rater_column or "rater"
    table.column(own, "the rater's id")
    raters = ids(table, own).alias("rater")
    table.refuse(~raters.is_first_distinct(), own, "duplicate rater '{}'", "keep one row per rater")
    return pl.DataFrame([raters, *(known(frame[name]) for name in frame.columns if name != snake_case(own))])


def _prolific(table: FileTable, frame: pl.DataFrame, rater: str) -> pl.DataFrame:
    """One row per participant of an export."""
    own = table.frame.columns[frame.columns.index(rater)]
    status = frame["status"] if "status" in frame.columns else pl.repeat("", len(frame), eager=True)
    rank = status.cast(pl.String).str.to_uppercase().str.replace_all("[_-]", " ")
    best = {name: n for n, name in enumerate(_BEST_FIRST)}
    order = rank.replace_strict(best, default=len(best), return_dtype=pl.Int8)
    kept = [name for name in frame.columns if name not in {rater, "status", "time_taken", *SUBMISSION}]
    traits = pl.DataFrame([ids(table, own).alias("rater"), *(known(frame[name]) for name in kept)])
    best_first = traits.with_columns(order.alias("__order")).sort("__order", maintain_order=True).drop("__order")
    merged = best_first.group_by("rater").agg(pl.all().drop_nulls().first())
    each = traits.select(pl.col("rater").unique(maintain_order=True))
    return each.join(merged, on="rater", how="left", maintain_order="left")


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
