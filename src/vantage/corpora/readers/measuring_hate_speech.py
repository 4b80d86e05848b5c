"""Measuring Hate Speech (Kennedy et al. 2020; Sachdeva et al. 2022): ten ordinal items per comment.

One row of the release is one annotator's answers about one comment. The ten items are answers; so are the
marks for the groups that a comment is about (`target_*`). The hate speech score, its error and its fit belong
to the comment, the severity and fit of an annotator to the rater: they were estimated together by faceted
Rasch measurement. Demographics that were stored as one mark per group become one trait (`asian; white`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.prolific import known, snake_case
from vantage.corpora.readers.files import find
from vantage.corpora.readers.release import first_of_each, ids, notes_on, one_row_each, read_flat, release
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale

COMPONENTS: Final = {
    column: column.replace("_", "-")
    for column in (
        "sentiment", "respect", "insult", "humiliate", "status", "dehumanize", "violence", "genocide",
        "attack_defend", "hatespeech",
    )
}  # fmt: skip
"""Columns with answers, and the questions of the bundled instrument."""
ABOUT_ITEMS: Final = ("text", "platform", "hate_speech_score", "std_err", "hypothesis", "infitms", "outfitms")
_TRAITS: Final = ("age", "gender", "trans", "educ", "income", "ideology", "severity", "infitms", "outfitms")
ABOUT_RATERS: Final = {
    f"annotator_{name}": {"trans": "transgender", "educ": "education"}.get(name, name) for name in _TRAITS
}
MARKED: Final = ("gender", "education", "income", "ideology", "race", "religion", "sexuality")
"""Demographics with one column of marks per group."""
GROUPS: Final = ("race", "religion", "origin", "gender", "sexuality", "age", "disability", "politics")
TARGETS: Final = ("groups", "all", "none")
_TRUE: Final = ("true", "1", "1.0", "t", "yes")
_FALSE: Final = ("false", "0", "0.0", "f", "no")


def read(path: Path, *, targets: str = "groups", binary: bool = False) -> Corpus:
    """Reads the release.

    Args:
        path: The Parquet or CSV file, or the folder with it.
        targets: Which marks for target groups become judgments: those of the `groups` (race, religion …),
            `all` of them with the subgroups (some seven million judgments), or `none`.
        binary: Whether to add the question `hate-speech`, yes where `hatespeech` is unclear or yes, as perspectivist
            work on this corpus does.
    """
    if targets not in TARGETS:
        raise InputError(f"there are no targets '{targets}'", remedy=f"use {', '.join(TARGETS)}")
    table = read_flat(find(path, "*hate*speech*.parquet", "*hate*speech*.csv", "train-*.parquet", "*.parquet", "*.csv"))
    table.require("comment_id", "annotator_id", "text", *COMPONENTS)
    marks = _target_columns(table, targets)
    keys = pl.DataFrame({"item": ids(table, "comment_id"), "rater": ids(table, "annotator_id")})
    answered = keys.with_columns(
        *(table.numbers(column).fill_nan(None).alias(question) for column, question in COMPONENTS.items()),
        *(_marks(table, column).cast(pl.Float64).alias(column) for column in marks),
    )
    if binary:
        answered = answered.with_columns((pl.col("hatespeech") > 0).cast(pl.Float64).alias("hate-speech"))
    judgments = answered.unpivot(index=["item", "rater"], variable_name="question", value_name="value")
    judgments, dropped = first_of_each(judgments.drop_nulls("value"))
    items, unlike_items = one_row_each(_items(table, keys["item"]), "item")
    raters, unlike_raters = one_row_each(_raters(table, keys["rater"]), "rater")
    instruments = [Instrument.load("hate-speech-components")]
    if binary:
        instruments.append(Instrument.load("hate-speech"))
    if marks:
        yes_no = Scale.labels("no", "yes")
        title = "Measuring Hate Speech: groups that a comment is about"
        instruments.append(Instrument.of_questions("hate-speech-targets", title, dict.fromkeys(marks, yes_no)))
    notes = [*notes_on(dropped, unlike_items, unlike_raters)]
    if targets != "all":
        notes.append(f"Marks for target groups that were read: {targets}.")
    return release("measuring-hate-speech", items, raters, judgments, instruments, notes)


def _target_columns(table: FileTable, targets: str) -> list[str]:
    if targets == "none":
        return []
    there = [name for name in table.frame.columns if name.startswith("target_")]
    return there if targets == "all" else [name for name in there if name.removeprefix("target_") in GROUPS]


def _marks(table: FileTable, column: str) -> pl.Series:
    """A column of marks as true and false, however the file writes them."""
    values = table.column(column)
    if values.dtype == pl.Boolean:
        return values
    text = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    marks = text.replace_strict(
        {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}, default=None, return_dtype=pl.Boolean
    )
    wrong = marks.is_null() & text.is_not_null() & ~text.is_in(["", "nan"])
    table.refuse(wrong, column, "'{}' is neither true nor false")
    return marks


def _items(table: FileTable, item: pl.Series) -> pl.DataFrame:
    columns = [table.frame[name] for name in ABOUT_ITEMS if name in table.frame.columns]
    return pl.DataFrame(
        [item, *(column.cast(pl.String) if column.name == "text" else known(column) for column in columns)]
    )


def _raters(table: FileTable, rater: pl.Series) -> pl.DataFrame:
    frame = table.frame
    traits = [known(frame[name]).alias(trait) for name, trait in ABOUT_RATERS.items() if name in frame.columns]
    for trait in MARKED:
        prefix = f"annotator_{trait}_"
        groups = [name for name in frame.columns if name.startswith(prefix)]
        if groups and trait not in [t.name for t in traits]:
            traits.append(_joined(table, trait, groups, prefix))
    return pl.DataFrame([rater, *traits])


def _joined(table: FileTable, trait: str, groups: list[str], prefix: str) -> pl.Series:
    """The groups that a rater marked, as one trait; null where none is marked."""
    marked = pl.DataFrame([_marks(table, name) for name in groups])
    names = [
        pl.when(pl.col(name)).then(pl.lit(snake_case(name.removeprefix(prefix)).replace("_", " "))) for name in groups
    ]
    joined = marked.select(pl.concat_str(names, separator="; ", ignore_nulls=True)).to_series().alias(trait)
    return joined.set(joined == "", None)
