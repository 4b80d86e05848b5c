"""Releases with one row per rater and item, whose columns `rated.toml` names: DICES, Measuring Hate Speech, EPIC.

DICES-350 and DICES-990 (Aroyo et al. 2023): is a chatbot's last response unsafe, and for which reasons? Both parts
number their items and raters from scratch, so ids get the part in front (`350-17`). Experts gave `degree_of_harm`,
`harm_type` and `safety_gold`. The answers called overall were computed by the publishers from the single reasons.

Measuring Hate Speech (Kennedy et al. 2020; Sachdeva et al. 2022): ten ordinal items per comment, and marks for the
groups that it is about (`target_*`). Scores of comments and severities of annotators were estimated together by faceted
Rasch measurement. Demographics that were stored as one mark per group become one trait (`asian; white`).

EPIC (Frenda et al. 2023): is the reply to a post ironic? Columns beyond those that are needed go where they are
constant: to the items, to the raters, or else to the judgments.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.prolific import SUBMISSION, known, snake_case
from vantage.corpora.readers.files import find
from vantage.corpora.readers.release import codes, first_of_each, ids, notes_on, one_row_each, read_flat, release
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.schema import CONVERSATION, ITEMS, JUDGMENTS, RATERS
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale

COLUMNS: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PARTS: Final = ("350", "990")
ANSWERS: Final = {"no": 0.0, "unsure": 1.0, "yes": 2.0}
COMPREHENSION: Final = "Q1_whole_conversation_evaluation"
NOT_UNDERSTOOD: Final = ("none of the above", "nonsensical", "language other than english", "not familiar")
"""What the answers on the comprehension of a conversation contain; their order is that of the codes."""
TARGETS: Final = ("groups", "all", "none")
MARKS: Final = {**dict.fromkeys(("true", "1", "1.0", "t", "yes"), True),
                **dict.fromkeys(("false", "0", "0.0", "f", "no"), False)}  # fmt: skip
LABELS: Final = {"not": 0.0, "iro": 1.0}
_SPEAKER: Final = re.compile(
    r"(?:(?:^|\n)[ \t]*|(?<=\s)(?=USER|LAMDA))((?i:user|lamda|bot|chatbot|assistant))[ \t]*:[ \t]*"
)
"""Where a turn starts: a speaker's name at the start of a line, or one in capitals inside it."""


def _opened(reader: str, file: Path) -> FileTable:
    """The table of a release that has the columns which it must have."""
    table, named = read_flat(file), COLUMNS[reader]
    required = [named["rater"], named["item"], *named["required"]]
    table.require(*dict.fromkeys(required + (list(named["questions"]) if reader == "measuring-hate-speech" else [])))
    return table


def _corpus(
    reader: str,
    answered: pl.DataFrame,
    questions: Iterable[str],
    items: pl.DataFrame,
    raters: pl.DataFrame,
    instruments: Iterable[Instrument],
    notes: Iterable[str] = (),
    part: str = "",
) -> Corpus:
    """The corpus of rows that repeat items and raters, with a column of answers per question."""
    rest = [name for name in answered.columns if name not in {*questions}]
    judged = answered.unpivot(list(questions), index=rest, variable_name="question", value_name="value")
    judgments, dropped = first_of_each(judged.drop_nulls("value"))
    items, unlike_items = one_row_each(items, "item")
    raters, unlike_raters = one_row_each(raters, "rater")
    remarks = [*notes_on(dropped, unlike_items, unlike_raters), *notes]
    if "context" in items.columns:
        turns = pl.Series("conversation", [_turns(text or "") for text in items["context"]], dtype=CONVERSATION)
        items = items.with_columns(turns).drop("context")
    return release(reader, items, raters, judgments, instruments, remarks, part=part)


def _traits(reader: str, table: FileTable, rater: pl.Series) -> list[pl.Series]:
    names = COLUMNS[reader]["traits"]
    return [rater, *(known(table.frame[n]).alias(trait) for n, trait in names.items() if n in table.frame.columns)]


def dices(path: Path, *, part: str | None = None) -> Corpus:
    """Reads one part of DICES.

    Args:
        path: The CSV file, or the folder with one or both of them.
        part: `350` or `990`, where the folder has both.
    """
    table, named = _opened("dices", _dices_file(path, part)), COLUMNS["dices"]
    frame = table.frame
    stem = next((one for one in PARTS if one in table.path.stem), None)
    part = part or stem or ("990" if "rater_locale" in frame.columns else "350")
    item, rater = ids(table, "item_id", f"{part}-").alias("item"), ids(table, "rater_id", f"{part}-").alias("rater")
    asked = [name for name in frame.columns if name.startswith("Q") and name != COMPREHENSION]
    answers = [codes(table, name, ANSWERS).alias(named["questions"].get(name, name)) for name in asked]
    answers += [_comprehension(table)] if COMPREHENSION in frame.columns else []
    extra = [(table.numbers("answer_time_ms") / 1000).alias("seconds")] if "answer_time_ms" in frame.columns else []
    extra += [frame["phase"].cast(pl.String)] if "phase" in frame.columns else []
    instruments = [Instrument.load("conversation-safety")]
    if reasons := [name for name in asked if name not in named["questions"]]:
        title, scale = f"DICES-{part}: single reasons", instruments[0].question("unsafe").scale
        instruments.append(Instrument.of_questions(f"dices-{part}-reasons", title, dict.fromkeys(reasons, scale)))
    items = frame.select(pl.col(name).cast(pl.String) for name in named["items"] if name in frame.columns)
    answered = pl.DataFrame([item, rater, *extra, *answers])
    raters = pl.DataFrame(_traits("dices", table, rater))
    questions = [answer.name for answer in answers]
    return _corpus("dices", answered, questions, items.insert_column(0, item), raters, instruments, part=part)


def _dices_file(path: Path, part: str | None) -> Path:
    if part is not None and part not in PARTS:
        raise InputError(f"there is no part '{part}' of DICES", remedy="use 350 or 990")
    if path.is_dir() and part is None:
        there = [p for p in PARTS if any(path.glob(f"**/*dialog_{p}*.csv"))]
        if len(there) == len(PARTS):
            raise InputError("the folder has both parts", file=path, remedy="choose one with --part 350 or --part 990")
        part = there[0] if there else None
    return find(path, f"*dialog_{part or 350}*.csv")


def _comprehension(table: FileTable) -> pl.Series:
    words = table.column(COMPREHENSION).cast(pl.String).str.to_lowercase()
    coded = pl.Series("comprehension", [None], pl.Float64).new_from_index(0, len(words))
    for code, phrase in reversed(list(enumerate(NOT_UNDERSTOOD))):
        coded = coded.set(words.str.contains(phrase).fill_null(False), float(code))
    table.refuse(coded.is_null() & words.is_not_null(), COMPREHENSION, "'{}' is not one of the four answers")
    return coded


def _turns(text: str) -> list[dict[str, str]]:
    """The turns before the last response; a context without speakers is one turn of nobody in particular."""
    parts = _SPEAKER.split(text)
    turns = [{"speaker": "", "text": parts[0].strip()}] if parts[0].strip() else []
    for name, said in zip(parts[1::2], parts[2::2], strict=True):
        turns.append({"speaker": "user" if name.lower() == "user" else "chatbot", "text": said.strip()})
    return turns


def measuring_hate_speech(path: Path, *, targets: str = "groups", binary: bool = False) -> Corpus:
    """Reads Measuring Hate Speech.

    Args:
        path: The Parquet or CSV file, or the folder with it.
        targets: Which marks for target groups become judgments: those of the `groups` (race, religion …),
            `all` of them with the subgroups (some seven million judgments), or `none`.
        binary: Whether to add the question `hate-speech`, yes where `hatespeech` is unclear or yes, as perspectivist
            work on this corpus does.
    """
    if targets not in TARGETS:
        raise InputError(f"there are no targets '{targets}'", remedy=f"use {', '.join(TARGETS)}")
    reader, named = "measuring-hate-speech", COLUMNS["measuring-hate-speech"]
    files = ("*hate*speech*.parquet", "*hate*speech*.csv", "train-*.parquet", "*.parquet", "*.csv")
    table = _opened(reader, find(path, *files))
    frame = table.frame
    item, rater = ids(table, "comment_id").alias("item"), ids(table, "annotator_id").alias("rater")
    marks = [name for name in frame.columns if name.startswith("target_") and targets != "none"]
    marks = [name for name in marks if targets == "all" or name.removeprefix("target_") in named["groups"]]
    answers = [table.numbers(column).fill_nan(None).alias(asked) for column, asked in named["questions"].items()]
    answers += [_marks(table, column).cast(pl.Float64).alias(column) for column in marks]
    instruments = [Instrument.load("hate-speech-components")]
    if binary:
        answers.append((table.numbers("hatespeech").fill_nan(None) > 0).cast(pl.Float64).alias("hate-speech"))
        instruments.append(Instrument.load("hate-speech"))
    if marks:
        title = "Measuring Hate Speech: groups that a comment is about"
        yes_no = dict.fromkeys(marks, Scale.labels("no", "yes"))
        instruments.append(Instrument.of_questions("hate-speech-targets", title, yes_no))
    of_items = [frame[name] for name in named["items"] if name in frame.columns]
    of_items = [column.cast(pl.String) if column.name == "text" else known(column) for column in of_items]
    traits = _traits(reader, table, rater)
    for trait in named["marked"]:
        prefix = f"annotator_{trait}_"
        groups = [name for name in frame.columns if name.startswith(prefix)]
        if groups and trait not in [t.name for t in traits]:
            traits.append(_joined(table, trait, groups, prefix))
    answered, questions = pl.DataFrame([item, rater, *answers]), [answer.name for answer in answers]
    notes = [] if targets == "all" else [f"Marks for target groups that were read: {targets}."]
    items, raters = pl.DataFrame([item, *of_items]), pl.DataFrame(traits)
    return _corpus(reader, answered, questions, items, raters, instruments, notes)


def _marks(table: FileTable, column: str) -> pl.Series:
    """A column of marks as true and false, however the file writes them."""
    values = table.column(column)
    if values.dtype == pl.Boolean:
        return values
    text = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    marks = text.replace_strict(MARKS, default=None, return_dtype=pl.Boolean)
    wrong = marks.is_null() & text.is_not_null() & ~text.is_in(["", "nan"])
    table.refuse(wrong, column, "'{}' is neither true nor false")
    return marks


def _joined(table: FileTable, trait: str, groups: list[str], prefix: str) -> pl.Series:
    """The groups that a rater marked, as one trait; null where none is marked."""
    marked = pl.DataFrame([_marks(table, name) for name in groups])
    words = {name: snake_case(name.removeprefix(prefix)).replace("_", " ") for name in groups}
    names = [pl.when(pl.col(name)).then(pl.lit(word)) for name, word in words.items()]
    joined = marked.select(pl.concat_str(names, separator="; ", ignore_nulls=True)).to_series().alias(trait)
    return joined.set(joined == "", None)


def epic(path: Path) -> Corpus:
    """Reads EPIC: the Parquet or CSV file, or the folder with it."""
    table = _opened("epic", find(path, "*EPIC*.parquet", "*EPIC*.csv", "train-*.parquet", "*.parquet", "*.csv"))
    rater, columns = ids(table, "user").alias("rater"), {"post": "parent_text", "reply": "text"}
    pairs = table.frame.select(pl.col(column).cast(pl.String).alias(name) for name, column in columns.items())
    item = _pair_ids(ids(table, "id_original"), pairs)
    of_items, of_raters, of_judgments = _placed(table, item, rater)
    answered = pl.DataFrame([item, rater, codes(table, "label", LABELS).alias("irony"), *of_judgments])
    items, raters = pl.DataFrame([item, *pairs.get_columns(), *of_items]), pl.DataFrame([rater, *of_raters])
    return _corpus("epic", answered, ["irony"], items, raters, [Instrument.load("irony")])


def _pair_ids(original: pl.Series, pairs: pl.DataFrame) -> pl.Series:
    """The original ids; where one stands for several pairs, the later ones get a number behind it."""
    distinct = pairs.with_columns(original.alias("item"))
    numbered = distinct.unique(maintain_order=True).with_columns(pl.int_range(1, pl.len() + 1).over("item").alias("n"))
    joined = distinct.join(numbered, on=["item", "post", "reply"], how="left", nulls_equal=True, maintain_order="left")
    later = pl.when(pl.col("n") > 1).then(pl.format("{}~{}", "item", "n"))
    return joined.select(later.otherwise("item").alias("item")).to_series()


def _placed(table: FileTable, item: pl.Series, rater: pl.Series) -> tuple[list[pl.Series], ...]:
    """The further columns of EPIC under their new names, by what they describe: items, raters, single judgments."""
    named = COLUMNS["epic"]
    placed: tuple[list[pl.Series], ...] = ([], [], [])
    of_items, of_raters, of_judgments = placed
    for name in table.frame.columns:
        renamed = named["traits"].get(name, snake_case(name))
        needed = (named["item"], named["rater"], *named["required"])
        if name in needed or renamed in {"", *SUBMISSION} or renamed.startswith(("unnamed", "_")):
            continue
        column = known(table.frame[name]).alias(renamed)
        if name in named["demographics"]:
            of_raters.append(column)
        elif renamed in {*ITEMS, *RATERS, *JUDGMENTS, "post", "reply"}:
            of_judgments.append(column.alias(f"released_{renamed}"))
        elif _constant(column, item):
            of_items.append(column.cast(pl.String) if renamed.startswith("parent_id") else column)
        elif _constant(column, rater):
            of_raters.append(column)
        else:
            of_judgments.append(column)
    return placed


def _constant(column: pl.Series, key: pl.Series) -> bool:
    pairs = pl.DataFrame({"key": key, "value": column}).drop_nulls().unique()
    return pairs["key"].n_unique() == len(pairs)
