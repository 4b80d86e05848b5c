"""DICES-350 and DICES-990 (Aroyo et al. 2023): is a chatbot's last response unsafe, and for which reasons?

One row of the release is one rater's answers about one conversation. The two parts have different raters and
different reasons; both number their items and raters from scratch, so ids get the part in front (`350-17`).
`degree_of_harm`, `harm_type` and `safety_gold` were given by experts and describe the item. The answers
called overall were computed by the publishers from the single reasons; raters were not asked them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.prolific import known
from vantage.corpora.readers.files import find
from vantage.corpora.readers.release import codes, first_of_each, ids, notes_on, one_row_each, read_flat, release
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.schema import CONVERSATION
from vantage.errors import InputError
from vantage.instruments import Instrument

PARTS: Final = ("350", "990")
ANSWERS: Final = {"no": 0.0, "unsure": 1.0, "yes": 2.0}
COMPREHENSION: Final = "Q1_whole_conversation_evaluation"
NOT_UNDERSTOOD: Final = ("none of the above", "nonsensical", "language other than english", "not familiar")
"""What the answers on the comprehension of a conversation contain; their order is that of the codes."""
QUESTIONS: Final = {
    "Q2_harmful_content_overall": "harmful-content",
    **dict.fromkeys(("Q3_bias_overall", "Q3_unfair_bias_overall"), "unfair-bias"),
    **dict.fromkeys(("Q4_misinformation", "Q4_misinformation_overall"), "misinformation"),
    "Q5_political_affiliation": "political-affiliation",
    "Q6_policy_guidelines_overall": "policy-violation",
    "Q_overall": "unsafe",
}
"""Columns that the bundled instrument covers; the parts and their documentation differ in some names."""
TRAITS: Final = {
    **{f"rater_{name}": name for name in ("gender", "locale", "race")},
    **dict.fromkeys(("rater_raw_race", "rater_race_raw"), "race_in_own_words"),
    "rater_age": "age_group",
    "rater_education": "education",
}
ABOUT_ITEMS: Final = ("degree_of_harm", "harm_type", "safety_gold", "safety_gold_reason")
_SPEAKER: Final = re.compile(
    r"(?:(?:^|\n)[ \t]*|(?<=\s)(?=USER|LAMDA))((?i:user|lamda|bot|chatbot|assistant))[ \t]*:[ \t]*"
)
"""Where a turn starts: a speaker's name at the start of a line, or one in capitals inside it."""


def read(path: Path, *, part: str | None = None) -> Corpus:
    """Reads one part of the release.

    Args:
        path: The CSV file, or the folder with one or both of them.
        part: `350` or `990`, where the folder has both.
    """
    table = read_flat(_file(path, part))
    table.require("rater_id", "item_id", "context", "response", "Q_overall")
    part = part or _part(table)
    frame = table.frame
    questions = [name for name in frame.columns if name.startswith("Q") and name != COMPREHENSION]
    reasons = [name for name in questions if name not in QUESTIONS]
    keys = pl.DataFrame(
        {"item": ids(table, "item_id", f"{part}-"), "rater": ids(table, "rater_id", f"{part}-"), **_extra(table)}
    )
    answered = keys.with_columns(
        *(codes(table, name, ANSWERS).alias(QUESTIONS.get(name, name)) for name in questions),
        *([_comprehension(table)] if COMPREHENSION in frame.columns else []),
    )
    judgments = answered.unpivot(index=keys.columns, variable_name="question", value_name="value").drop_nulls("value")
    judgments, dropped = first_of_each(judgments)
    items, unlike_items = one_row_each(_items(table, keys["item"]), "item")
    traits = {trait: name for name, trait in TRAITS.items() if name in frame.columns}
    raters, unlike_raters = one_row_each(
        pl.DataFrame([keys["rater"], *(known(frame[name]).alias(trait) for trait, name in traits.items())]), "rater"
    )
    instruments = [Instrument.load("conversation-safety")]
    if reasons:
        title, scale = f"DICES-{part}: single reasons", instruments[0].question("unsafe").scale
        instruments.append(Instrument.of_questions(f"dices-{part}-reasons", title, dict.fromkeys(reasons, scale)))
    turns = pl.Series("conversation", [_turns(text or "") for text in items["context"]], dtype=CONVERSATION)
    items = items.with_columns(turns).drop("context")
    notes = notes_on(dropped, unlike_items, unlike_raters)
    return release("dices", items, raters, judgments, instruments, notes, part=part)


def _file(path: Path, part: str | None) -> Path:
    if part is not None and part not in PARTS:
        raise InputError(f"there is no part '{part}' of DICES", remedy="use 350 or 990")
    if path.is_dir() and part is None:
        there = [p for p in PARTS if any(path.glob(f"**/*dialog_{p}*.csv"))]
        if len(there) == len(PARTS):
            raise InputError("the folder has both parts", file=path, remedy="choose one with --part 350 or --part 990")
        part = there[0] if there else None
    return find(path, f"*dialog_{part}*.csv" if part else "*dialog_350*.csv")


def _part(table: FileTable) -> str:
    named = next((part for part in PARTS if part in table.path.stem), None)
    return named or ("990" if "rater_locale" in table.frame.columns else "350")


def _extra(table: FileTable) -> dict[str, pl.Series]:
    """What is known of a row as a whole: how long its answers took together, and when it was collected."""
    columns = {}
    if "answer_time_ms" in table.frame.columns:
        columns["seconds"] = table.numbers("answer_time_ms") / 1000
    if "phase" in table.frame.columns:
        columns["phase"] = table.frame["phase"].cast(pl.String)
    return columns


def _comprehension(table: FileTable) -> pl.Series:
    words = table.column(COMPREHENSION).cast(pl.String).str.to_lowercase()
    coded = pl.Series("comprehension", [None], pl.Float64).new_from_index(0, len(words))
    for code, phrase in reversed(list(enumerate(NOT_UNDERSTOOD))):
        coded = coded.set(words.str.contains(phrase).fill_null(False), float(code))
    table.refuse(coded.is_null() & words.is_not_null(), COMPREHENSION, "'{}' is not one of the four answers")
    return coded


def _items(table: FileTable, item: pl.Series) -> pl.DataFrame:
    columns = ["context", "response", *(name for name in ABOUT_ITEMS if name in table.frame.columns)]
    return table.frame.select(pl.col(columns).cast(pl.String)).insert_column(0, item)


def _turns(text: str) -> list[dict[str, str]]:
    """The turns before the last response; a context without speakers is one turn of nobody in particular."""
    parts = _SPEAKER.split(text)
    turns = [{"speaker": "", "text": parts[0].strip()}] if parts[0].strip() else []
    for name, said in zip(parts[1::2], parts[2::2], strict=True):
        speaker = "user" if name.lower() == "user" else "chatbot"
        turns.append({"speaker": speaker, "text": said.strip()})
    return turns
