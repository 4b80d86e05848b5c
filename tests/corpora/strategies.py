"""Small corpora of every shape, for property tests."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import strategies as st

from vantage import Corpus, Instrument, Scale
from vantage.corpora import About
from vantage.scales import OptOut

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
INSTRUMENT = Instrument.of_questions(
    "mixed",
    "Mixed",
    {
        "rating": Scale.points(-3, 3),
        "choice": Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "cannot tell")]),
        "slider": Scale.continuous(0, 100),
    },
)
_VALUES = {
    "rating": st.integers(-3, 3).map(float),
    "choice": st.sampled_from([0.0, 1.0]),
    "slider": st.floats(0, 100),
}


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """A valid corpus: hostile texts and ids, every status, nested and missing columns."""
    items = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    raters = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    keys = st.tuples(
        st.sampled_from(items),
        st.sampled_from(sorted(_VALUES)),
        st.sampled_from(raters),
        st.sampled_from(["", "static"]),
        st.integers(0, 2),
    )
    rows: list[dict[str, Any]] = []
    for item, question, rater, condition, sample in draw(st.lists(keys, max_size=12, unique=True)):
        statuses = [
            "answered",
            "refused",
            "unparsed",
            "failed",
            *(["ambiguous"] if question == "choice" else []),
        ]
        status = draw(st.sampled_from(statuses))
        value = draw(_VALUES[question]) if status == "answered" else None
        rationale = draw(st.none() | words)
        key = {"item": item, "question": question, "rater": rater, "condition": condition, "sample": sample}
        rows.append({**key, "value": value, "status": status, "rationale": rationale})
    schema = {
        "item": pl.String,
        "question": pl.String,
        "rater": pl.String,
        "condition": pl.String,
        "sample": pl.Int32,
        "value": pl.Float64,
        "status": pl.String,
        "rationale": pl.String,
    }
    turns = st.lists(st.fixed_dictionaries({"speaker": words, "text": words}), max_size=2)
    conversation = pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
    return Corpus(
        items=pl.DataFrame(
            {
                "item": items,
                "text": [draw(st.none() | words) for _ in items],
                "conversation": pl.Series([draw(st.none() | turns) for _ in items], dtype=conversation),
            },
            schema_overrides={"text": pl.String},
        ),
        raters=pl.DataFrame(
            {
                "rater": raters,
                "kind": [draw(st.sampled_from(["person", "model", "persona"])) for _ in raters],
                "age": pl.Series([draw(st.none() | st.integers(18, 99)) for _ in raters], dtype=pl.Int64),
            }
        ),
        judgments=pl.DataFrame(rows, schema=schema),
        instruments=INSTRUMENT,
        about=About(name="drawn", title=draw(words.map(str.strip)), notes=tuple(draw(st.lists(words, max_size=2)))),
    )
