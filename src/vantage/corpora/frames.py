"""A corpus from a frame in memory, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import frame_table
from vantage.instruments import Instrument


def corpus(
    frame: object,
    *,
    item: str | None = None,
    rater: str | None = None,
    value: str | None = None,
    text: str | None = None,
    question: str | None = None,
    traits: Sequence[str] = (),
    instrument: str | Instrument | None = None,
    name: str = "",
    **options: Any,
) -> Corpus:
    """A corpus from a pandas, Polars or PyArrow frame, or anything with the Arrow interface, by column names.

    `question` names the column that says which question a row answers or, where there is no such column, the question
    itself. Columns with the name of their role (`item`, `rater`, `value` …) need not be named. Further options are
    those of the reader `table`: `map` for further columns of the items, `missing`, `empty`, `duplicates`, `order` …

    >>> import pandas as pd
    >>> stars = pd.DataFrame({"id": [1, 1, 2, 2], "who": ["ann", "bob", "ann", "bob"], "stars": [4, 5, 2, 2]})
    >>> made = corpus(stars, item="id", rater="who", value="stars", question="quality")
    >>> made.judgments["value"].to_list(), made.questions[0].id
    ([4.0, 5.0, 2.0, 2.0], 'quality')
    """
    from vantage.corpora.readers.table import read

    columns = frame_table(frame).frame.columns
    named = {"item": item, "rater": rater, "value": value, "text": text}
    roles = {**options.pop("map", {}), **{role: column for role, column in named.items() if column is not None}}
    if question is not None and question in columns and question not in roles.values():
        roles["question"], question = question, None
    made = read(frame, map=roles, question=question, traits=traits, instrument=instrument, **options)
    if name:
        made.about = replace(made.about, name=name, title=name)
    return made
