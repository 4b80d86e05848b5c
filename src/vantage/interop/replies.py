"""Replies of models that were made elsewhere: a table with item, model and reply, read by the rules for replies."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.readers.files import read_table
from vantage.corpora.schema import JUDGMENTS
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.raters.replies import parse_replies

COLUMNS = {"item": ("item", "id"), "rater": ("model", "rater"), "reply": ("reply", "response", "completion", "output")}
"""How the columns of the file may be called."""


def read(
    path: Path, *, instrument: str | Instrument | None = None, question: str | None = None, condition: str = ""
) -> Corpus:
    """Reads the replies of models from JSON Lines or any other table.

    What a model thought is taken away, a reply that cannot be read has the status `unparsed`, and the notes count them.

    Args:
        path: The file, with columns for the item, the model and the reply, and maybe text, question and sample.
        instrument: What was asked.
        question: Which of its questions, where no column says it; without it all were asked together.
        condition: The circumstances under which the judgments are to stand.
    """
    if instrument is None:
        raise InputError("no instrument given", file=path, remedy="pass --instrument NAME")
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    table = read_table(path)
    names = {role: next((n for n in known_as if n in table.frame.columns), None) for role, known_as in COLUMNS.items()}
    if missing := next((role for role, name in names.items() if name is None), None):
        remedy = f"call a column {' or '.join(COLUMNS[missing])}; it has {', '.join(table.frame.columns[:20])}"
        raise InputError(f"there is no column for the {missing}", file=path, remedy=remedy)
    frame = table.frame.with_columns(pl.col(str(name)).cast(pl.String).alias(role) for role, name in names.items())
    rows = []
    for place, row in enumerate(frame.iter_rows(named=True)):
        if not row["item"] or not row["rater"]:
            raise table.fault("the item or the model is empty", "fill it in", place)
        asked = row.get("question") or question
        questions = [known.question(str(asked))] if asked else list(known.questions)
        parsed = parse_replies(row["reply"], questions, row.get("text"))
        for id_, reply in parsed.items():
            key = (row["item"], id_, row["rater"], condition, int(row.get("sample") or 0))
            rows.append((*key, reply.value, reply.status, reply.rationale, row["reply"], reply.rule))
    judgments = pl.DataFrame(rows, schema={**JUDGMENTS, "reply": pl.String, "rule": pl.String}, orient="row")
    texts = [name for name in ("text", "target") if name in frame.columns]
    items = frame.select("item", *texts).unique("item", maintain_order=True)
    raters = frame.select("rater").unique(maintain_order=True).with_columns(kind=pl.lit("model"), model=pl.col("rater"))
    unread = int((judgments["status"] == "unparsed").sum())
    notes = (f"{unread:,} of {len(judgments):,} replies could not be read.",) if unread else ()
    about = About(path.stem, path.stem, path.name, notes=notes)
    return Corpus(items, raters, judgments, known, about, place=lambda _, index: {"file": path, "row": index + 1})
