"""From frames of any library to a corpus and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vantage
from vantage import InputError

pytestmark = pytest.mark.filterwarnings("ignore::vantage.corpora.reading.UnreadColumnsWarning")

STARS = pd.DataFrame(
    {
        "id": [1, 1, 2, 2],
        "who": ["ann", "bob", "ann", "bob"],
        "stars": [4, 5, 2, 2],
        "sentence": ["Good", "Good", "Bad", "Bad"],
        "age": [31, 52, 31, 52],
        "asked": ["trust", "trust", "trust", "trust"],
    }
)
NAMED: dict[str, Any] = {"item": "id", "rater": "who", "value": "stars", "text": "sentence", "traits": ["age"]}


@pytest.mark.parametrize(
    "frame", [STARS, pl.from_pandas(STARS), pl.from_pandas(STARS).lazy(), pa.Table.from_pandas(STARS)], ids=str
)
def test_a_frame_of_any_library(frame: Any) -> None:
    corpus = vantage.read(frame, **NAMED, question="trust", name="stars")
    assert corpus.items.rows() == [("1", "Good"), ("2", "Bad")]
    assert corpus.raters.rows() == [("ann", "person", 31), ("bob", "person", 52)]
    assert corpus.judgments["value"].to_list() == [4, 5, 2, 2]
    assert (corpus.questions[0].id, corpus.about.name) == ("trust", "stars")
    same = vantage.read(
        frame,
        "table",
        map={"item": "id", "rater": "who", "value": "stars", "text": "sentence"},
        question="trust",
        traits=["age"],
    )
    assert same.judgments.equals(corpus.judgments)


def test_question_names_a_column_where_there_is_one() -> None:
    assert vantage.read(STARS, **NAMED, question="asked").questions[0].id == "trust"
    assert vantage.read(STARS, **NAMED).questions[0].id == "stars"
    assert vantage.read(STARS, **NAMED, question="stars").questions[0].id == "stars"


def test_missing_and_ordered_cells_of_pandas() -> None:
    order = ["low", "middle", "high"]
    words = pd.Categorical(["low", "high", None, "middle"], categories=order, ordered=True)
    frame = pd.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "value": words})
    corpus = vantage.read(frame, empty="skip")
    assert corpus.judgments["value"].to_list() == [1, 3, 2]
    assert corpus.questions[0].scale.describe() == "low, middle, high (ordinal)"
    holes = pd.DataFrame({"item": [1, 2], "rater": ["a", "a"], "value": [1.0, np.nan]})
    with pytest.raises(InputError, match="frame, row 2, column 'value': the cell is empty; say what an empty value"):
        vantage.read(holes)
    nullable = holes.astype({"value": "Int64"})
    assert vantage.read(nullable, empty="not_mentioned").judgments["value"].to_list() == [1, None]


def test_ids_that_pandas_made_floating_point_numbers() -> None:
    frame = pd.DataFrame({"item": [1.0, 2.0], "rater": [7.0, 7.0], "value": [0, 1]})
    corpus = vantage.read(frame)
    assert corpus.items["item"].to_list() == ["1", "2"]
    assert corpus.raters["rater"].to_list() == ["7"]


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (STARS.iloc[:0], "the frame has no rows"),
        ([[1, 2]], "list is neither a file nor a frame"),
        (pd.DataFrame([[1, 2]], columns=["item", "item"]), "two columns are named 'item'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "several rows of column names"),
        (STARS[["who", "stars"]], "no column is mapped to the item; the table has 'who', 'stars'"),
        (pd.DataFrame({"item": [1], "rater": [1], "value": [[1, 2]]}), "the cell holds a list, not one answer"),
        (pd.DataFrame({"item": [[1]], "rater": [1], "value": [1]}), "the column of the item holds lists"),
    ],
)
def test_frames_that_cannot_be_a_corpus(frame: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        vantage.read(frame)


def test_frames_are_for_tables_only() -> None:
    with pytest.raises(InputError, match="reader 'wcsent' reads files, not DataFrame"):
        vantage.read(STARS, "wcsent")


def test_pandas_to_corpus_to_pandas() -> None:
    corpus = vantage.read(STARS, **NAMED)
    back = vantage.to_pandas(corpus.with_columns_of(["text", "age"]))
    wanted = STARS.rename(columns={"id": "item", "who": "rater", "stars": "value", "sentence": "text"})
    columns = ["item", "rater", "value", "text", "age"]
    pd.testing.assert_frame_equal(
        back[columns].astype({"value": int}), wanted[columns].astype({"item": str}), check_dtype=False
    )


ANSWERS = st.one_of(
    st.lists(st.integers(1, 7), min_size=2, max_size=40),
    st.lists(st.floats(-3, 3, allow_nan=False).map(lambda v: round(v, 3)), min_size=2, max_size=40),
    st.lists(st.sampled_from(["ja", "nein", "weiss"]), min_size=2, max_size=40),
)


@given(ANSWERS, st.integers(2, 5))
def test_a_table_that_is_read_without_a_note_keeps_its_alpha(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], raters: int
) -> None:
    frame = pd.DataFrame(
        {
            "item": [f"i{n // raters}" for n in range(len(values))],
            "rater": [f"r{n % raters}" for n in range(len(values))],
            "value": values,
        }
    )
    try:
        corpus = vantage.read(frame)
    except InputError as error:
        assert "far from the other values" in str(error)
        return
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    frame.to_csv(path, index=False)
    assert vantage.read(path, "table").judgments.equals(corpus.judgments)
    coded = frame.assign(value=pd.factorize(frame["value"], sort=True)[0]) if isinstance(values[0], str) else frame
    if not corpus.about.notes or isinstance(values[0], str):
        options: dict[str, Any] = {"ci": "none", "level": "nominal" if isinstance(values[0], str) else "interval"}
        direct = vantage.measures.alpha(coded, **options)
        if isinstance(values[0], str) or corpus.questions[0].scale.ordered:
            assert vantage.measures.alpha(corpus, **options)["estimate"][0] == pytest.approx(
                direct["estimate"][0], abs=1e-12
            )


def test_a_corpus_shows_its_agreement_and_its_report() -> None:
    corpus = vantage.demo_corpus()
    figure = corpus.plot.agreement(by="question", ci="none")
    assert "<svg" in figure._repr_html_()
    assert figure.caption.endswith("by question.")
    ruler = corpus.plot.wright("trust")
    assert "r9" in ruler._repr_html_()
    with pytest.raises(InputError, match="trst"):
        corpus.plot.wright("trst")
    assert corpus.report().record.study == "corpus"
    with pytest.raises(InputError, match="there is no measure 'alfa'; did you mean 'alpha'"):
        corpus.plot.agreement(measure="alfa")


def test_columns_without_a_name_are_still_named_in_the_notes() -> None:
    frame = pl.DataFrame({"item": ["a", "b"], "rater": "r", "value": [1, 2], " ": "x"})
    assert vantage.read(frame).about.notes == ("Columns that were not read: ' '.",)
    assert vantage.read(frame.drop(" ")).about.notes == ()
