"""The readers of CovidET-Appraisals: ratings with recorded model answers, and judgments of rationales."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.corpora.readers.appraisals import DIMENSIONS, EMOTIONS
from vantage.errors import InputError
from vantage.instruments import Instrument

Row = dict[str, str]


def table(rows: Sequence[Mapping[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def answers(rating: str = "5", reason: str = "because ", **other: str) -> Row:
    row: Row = {}
    for name in DIMENSIONS:
        row |= {name: rating, f"{name}_rationale": reason}
    return row | other


def sheet(worker: str, post: str, **other: str) -> Row:
    start = {"HIT ID": "h", "Assignment ID": "a", "Worker ID": worker, "Reddit ID": post}
    return start | {"Reddit Post": f"invented post {post}"} | answers() | other


def reply(post: str, rating: str = "5</s>", **other: str) -> Row:
    return {"Reddit ID": post} | answers(rating, "I think so.</s>") | other


SHEETS = [sheet("W2", "p1", dim1=""), sheet("W9", "p1", dim1="9"), sheet("W9", "p2", dim24="1")]


def write(folder: Path, **files: str) -> Path:
    names = {"sheets": "CovidET-Appraisals.csv", "posts": "covidet_posts/test_anonymized-WITH_POSTS.json"}
    names |= {
        "raw": "responses_raw/alpaca-native_seed-3.csv",
        "cleaned": "responses_cleaned/chatgpt_seed-1.csv",
    }
    for key, content in ({"sheets": table(SHEETS)} | files).items():
        file = folder / names.get(key, key)
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(content.encode())
    return folder


def cells(corpus: Corpus, question: str, *columns: str) -> list[tuple[Any, ...]]:
    return corpus.judgments.filter(pl.col("question") == question).select(*columns).rows()


def test_the_dimensions_follow_the_questions_of_the_instrument() -> None:
    ids = [question.id for question in Instrument.load("appraisals").questions]
    assert ids == [
        "self-responsibility",
        "other-responsibility",
        "circumstances-responsibility",
        "problem-focused-coping",
        "goal-relevance",
        "attentional-activity",
        "emotion-focused-coping",
        "self-control",
        "other-control",
        "circumstances-control",
        "predictability",
        "threat",
        "pleasantness",
        "certainty",
        "goal-conduciveness",
        "fairness",
        "future-expectancy",
        "social-norms",
        "loss",
        "familiarity",
        "effort",
        "challenge",
        "internal-values",
        "expectedness",
    ]


def test_people_rate_or_say_not_mentioned(tmp_path: Path) -> None:
    corpus = load("appraisals", write(tmp_path / "release"))
    assert corpus.items.rows() == [("p1", "invented post p1"), ("p2", "invented post p2")]
    # W9 has two sheets, W2 one.
    assert corpus.raters.rows() == [("annotator-1", "person"), ("annotator-2", "person")]
    assert cells(corpus, "self-responsibility", "item", "rater", "value", "status", "rationale") == [
        ("p1", "annotator-2", None, "not_mentioned", "because"),
        ("p1", "annotator-1", 9.0, "answered", "because"),
        ("p2", "annotator-1", 5.0, "answered", "because"),
    ]
    assert cells(corpus, "expectedness", "value") == [(5.0,), (5.0,), (1.0,)]
    assert len(corpus.judgments) == 3 * 24
    assert "reply" not in corpus.judgments.columns
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


def test_raw_replies_count_only_as_a_whole(tmp_path: Path) -> None:
    said = [
        "7</s>",
        " [3] ",
        "4\n\n### End",
        "",
        "NA</s>",
        "[NA]",
        "n/a",
        "5. Quite so.</s>",
        "0",
        "12",
        "NA: no",
    ]
    recorded = dict(zip(DIMENSIONS, said, strict=False))
    corpus = load("appraisals", write(tmp_path / "release", raw=table([reply("p2"), reply("p1", **recorded)])))
    assert corpus.raters.rows()[-1] == ("alpaca-7B", "model")
    model = corpus.filter(rater="alpaca-7B").judgments
    assert set(model["sample"]) == {3}
    assert set(model["rationale"]) == {"I think so."}
    told = model.filter(item="p1").head(len(said))
    assert told["value"].to_list() == [7, 3, 4, None, None, None, None, None, None, None, None]
    assert told["status"].to_list() == ["answered"] * 3 + ["not_mentioned"] * 4 + ["unparsed"] * 4
    assert told["reply"].to_list() == [answer or None for answer in said]
    assert corpus.filter(kind="person").judgments["reply"].null_count() == 3 * 24
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


def test_cleaned_replies_have_no_rating_at_zero(tmp_path: Path) -> None:
    rows = [reply("p2", "7.0", dim1="0"), reply("p1", "9")]
    folder = write(tmp_path, cleaned=table(rows), raw=table([reply("p1")]))
    corpus = load("appraisals", folder, replies="cleaned")
    assert corpus.raters["rater"].to_list() == ["annotator-1", "annotator-2", "chatgpt"]
    model = corpus.filter(rater="chatgpt")
    assert cells(model, "self-responsibility", "item", "sample", "value", "status") == [
        ("p2", 1, None, "unparsed"),
        ("p1", 1, 9.0, "answered"),
    ]
    assert cells(model, "expectedness", "value") == [(7.0,), (9.0,)]
    assert any("0 both for NA" in note for note in corpus.about.notes)


def test_replies_can_be_left_out_or_stand_where_the_release_has_them(tmp_path: Path) -> None:
    write(tmp_path / "data", raw=table([reply("p1")]))
    assert len(load("appraisals", tmp_path / "data", replies="none").raters) == 2
    write(tmp_path, **{"LLM_responses/Responses-Cleaned/flan/flan-t5-xxl_seed-2.csv": table([reply("p1", "3")])})
    corpus = load("appraisals", tmp_path / "data", replies="cleaned")
    assert corpus.raters["rater"].to_list()[-1] == "flan-t5-xxl"
    with pytest.raises(InputError, match="there are no replies 'clean'; did you mean 'cleaned'"):
        load("appraisals", tmp_path / "data", replies="clean")


def test_emotions_of_covidet_are_counted(tmp_path: Path) -> None:
    fear, joy = {"Emotion": "fear", "Abstractive": "x"}, {"Emotion": "joy", "Abstractive": "y"}
    posts = {"0": {"Reddit ID": "p2", "Annotations": {"w1": [fear, fear, joy], "w2": [fear]}}}
    items = load("appraisals", write(tmp_path, posts=json.dumps(posts))).items
    assert items["covidet_split"].to_list() == [None, "test"]
    assert items["emotion_fear"].to_list() == [None, 2]
    assert items["emotion_joy"].to_list() == [None, 1]
    assert items.columns[3:] == [f"emotion_{name}" for name in EMOTIONS]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"sheets": ""}, "CovidET-Appraisals.csv: the file is empty"),
        ({"sheets": "Worker ID,Reddit ID\nw,p\n"}, "'Reddit Post', 'dim1', 'dim1_rationale'"),
        ({"sheets": table([sheet("w", "p", dim3="ten")])}, "row 2, column 'dim3': 'ten' is not a number"),
        (
            {"sheets": table([sheet("w", "p"), sheet("w", "q", dim3="10")])},
            "row 3, column 'value': 10 is not on",
        ),
        ({"sheets": table([sheet("w", "p"), sheet("w", "p")])}, "row 3: item 'p', question"),
        (
            {"sheets": table([sheet("w", "p"), sheet("w", "")])},
            "row 3, column 'Reddit ID': the cell is empty",
        ),
        ({"sheets": table([sheet("", "p")])}, "row 2, column 'Worker ID': the cell is empty"),
        (
            {"sheets": table([sheet("w", "p"), sheet("v", "p") | {"Reddit Post": "another"}])},
            "row 3, column 'Reddit Post': the post has a different text in an earlier row",
        ),
        (
            {"raw": table([reply("p1"), reply("p8")])},
            "alpaca-native_seed-3.csv, row 3, column 'item': there is no",
        ),
        ({"raw": table([reply("p1"), reply("p1")])}, "alpaca-native_seed-3.csv, row 3: item 'p1', question"),
        (
            {"raw": table([reply("")])},
            "alpaca-native_seed-3.csv, row 2, column 'Reddit ID': the cell is empty",
        ),
        (
            {"responses_raw/alpaca.csv": table([reply("p1")])},
            "alpaca.csv: the file name does not say which model",
        ),
        ({"posts": "[]"}, "test_anonymized-WITH_POSTS.json: this is not a post with annotations"),
        ({"posts": '{"0": {"Reddit ID": "p1"}}'}, "post '0': this is not a post with annotations"),
        ({"posts": '{"0": {"Annotations": {"a": [1]}}}'}, "post '0': this is not a post with annotations"),
        (
            {"posts": '{"0": {"Annotations"'},
            "test_anonymized-WITH_POSTS.json, row 1: the JSON ends too early",
        ),
    ],
)
def test_faulty_files_are_named(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as caught:
        load("appraisals", write(tmp_path, **files))
    assert told in str(caught.value)


@settings(max_examples=30)
@given(cut=st.integers(0, 2500), junk=st.sampled_from([b"", b'"', b"\xff", b"\r\n", b",,", b"\x00", b"77"]))
def test_a_damaged_file_never_escapes_as_a_traceback(tmp_path: Path, cut: int, junk: bytes) -> None:
    folder = write(tmp_path)
    file = folder / "CovidET-Appraisals.csv"
    good = file.read_bytes()
    file.write_bytes(good[: cut % len(good)] + junk + good[cut % len(good) + 1 :])
    told = ""
    try:
        corpus = load("appraisals", folder)
    except InputError as error:
        told = str(error)
    assert "CovidET-Appraisals.csv" in told or len(corpus.judgments) % 24 == 0


def judged(worker: str, post: str, model: str, rationale: str, **other: str) -> Row:
    start = {"Worker ID": worker, "Reddit ID": post, "Reddit Post": "an invented post", "Dim": "dim13"}
    start |= {"Model": model, "Scale": "7", "Rationale": rationale}
    start |= {"factuality": "minor", "justifies": "yes", "relevance": "4", "usefulness": "maybe"}
    return start | other


EVALUATIONS = [
    judged("W1", "p1", "gold", "One. "),
    judged("W2", "p1", "gold", "One.", factuality="no", usefulness="yes"),
    judged("W1", "p1", "gold", "Two.", Scale="0"),
    judged("W3", "p1", "chatgpt", "", Scale="0", justifies="no", relevance="1"),
]


def test_judgments_of_rationales(tmp_path: Path) -> None:
    write(tmp_path / "release", **{"human_eval/EVAL-ALL_6_models.csv": table(EVALUATIONS)})
    moved = [dict(reversed(judged("W1", "p2", "chatgpt", "Three.").items()))]
    write(tmp_path / "release", **{"human_eval/EVAL-TOP_3_models.csv": table(moved)})
    corpus = load("rationale-evaluation", tmp_path / "release")
    assert corpus.raters["rater"].to_list() == ["evaluator-1", "evaluator-2", "evaluator-3"]
    assert corpus.items.select("item", "source", "rating", "rationale").rows() == [
        ("p1-dim13-gold-2", "gold", "7", "One."),
        ("p1-dim13-gold-1", "gold", "not mentioned", "Two."),
        ("p1-dim13-chatgpt", "chatgpt", "0", None),
        ("p2-dim13-chatgpt", "chatgpt", "7", "Three."),
    ]
    assert set(corpus.items["appraisal"]) == {"pleasantness"}
    assert set(corpus.items["asked"]) == {Instrument.load("appraisals").question("pleasantness").ask}
    assert cells(corpus, "factuality", "rater", "value") == [
        ("evaluator-1", 0.5),
        ("evaluator-2", 0.0),
        ("evaluator-1", 0.5),
        ("evaluator-3", 0.5),
        ("evaluator-1", 0.5),
    ]
    assert [value for (value,) in cells(corpus, "relevance", "value")] == [4, 4, 4, 1, 4]
    assert [value for (value,) in cells(corpus, "consistency", "value")] == [1, 1, 1, 0, 1]
    assert [value for (value,) in cells(corpus, "usefulness", "value")] == [0.5, 1, 0.5, 0.5, 0.5]
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus
    alone = load("rationale-evaluation", tmp_path / "release" / "human_eval" / "EVAL-TOP_3_models.csv")
    assert len(alone.items) == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"relevance": "6"}, "row 2, column 'relevance': '6' is not one of"),
        ({"justifies": "minor"}, "row 2, column 'justifies': 'minor' is not one of no, yes"),
        ({"usefulness": ""}, "row 2, column 'usefulness': the cell is empty"),
        ({"Dim": "dim25"}, "row 2, column 'Dim': there is no dimension 'dim25'"),
        ({"Model": ""}, "row 2, column 'Model': the cell is empty"),
    ],
)
def test_faulty_evaluations_are_named(tmp_path: Path, row: dict[str, str], told: str) -> None:
    file = write(tmp_path, **{"x_models.csv": table([judged("W1", "p1", "gold", "One.", **row)])}) / "x_models.csv"
    with pytest.raises(InputError) as caught:
        load("rationale-evaluation", file)
    assert told in str(caught.value)


def test_an_evaluation_that_stands_twice_is_named(tmp_path: Path) -> None:
    write(tmp_path, **{"a_models.csv": table(EVALUATIONS), "b_models.csv": table(EVALUATIONS[1:])})
    with pytest.raises(InputError, match=r"b_models\.csv, row 2: item 'p1-dim13-gold-2'.* judged already in row 3"):
        load("rationale-evaluation", tmp_path)
    with pytest.raises(InputError, match=r"no file \*_models\.csv"):
        load("rationale-evaluation", write(tmp_path / "empty"))


@pytest.mark.data
def test_the_release(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("appraisals", data_dir / "appraisals")
    people = corpus.filter(kind="person")
    assert (len(people.items), len(people.judgments)) == (241, 281 * 24)
    assert people.judgments["status"].value_counts().sort("status").rows() == [
        ("answered", 281 * 24 - 1052),
        ("not_mentioned", 1052),
    ]
    assert people.judgments["rationale"].null_count() == 0
    assert people.judgments.group_by("rater").len().sort("rater")["len"].to_list() == [143 * 24, 138 * 24]
    assert set(corpus.items["covidet_split"]) == {"test"}
    counts = corpus.judgments.filter(pl.col("sample") == 1).group_by("rater", "status").len()
    assert set(counts.rows()) == {
        ("alpaca-7B", "answered", 5755),
        ("alpaca-7B", "not_mentioned", 4),
        ("alpaca-7B", "unparsed", 25),
        ("chatgpt", "answered", 5756),
        ("chatgpt", "not_mentioned", 28),
        ("dolly-v2-7B", "answered", 2077),
        ("dolly-v2-7B", "not_mentioned", 1159),
        ("dolly-v2-7B", "unparsed", 2548),
        ("flan-t5-xxl", "answered", 4810),
        ("flan-t5-xxl", "not_mentioned", 168),
        ("flan-t5-xxl", "unparsed", 806),
    }
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


@pytest.mark.slow
@pytest.mark.data
def test_released_cleaning_agrees_where_the_whole_reply_is_a_rating(data_dir: Path) -> None:
    raw = load("appraisals", data_dir / "appraisals").filter(kind="model").judgments
    cleaned = load("appraisals", data_dir / "appraisals", replies="cleaned").filter(kind="model").judgments
    assert len(cleaned) == len(raw) == 4 * 241 * 24
    key = ["item", "question", "rater", "sample"]
    both = raw.join(cleaned, on=key, suffix="_cleaned").filter(pl.col("status") == "answered")
    assert (both["value"] == both["value_cleaned"]).all()
    assert (cleaned["status"] == "unparsed").sum() == 5 + 28 + 2554 + 860


@pytest.mark.data
def test_the_two_annotators_agree_as_published(data_dir: Path) -> None:
    judgments = load("appraisals", data_dir / "appraisals", replies="none").judgments
    pairs = judgments.with_columns(pl.col("value").fill_null(0)).pivot(
        "rater", index=["item", "question"], values="value"
    )
    pairs = pairs.drop_nulls()
    assert len(pairs) == 40 * 24
    # Mean absolute difference with blanks as 0: 1.905 in Zhan, Ong and Li.
    assert (pairs["annotator-1"] - pairs["annotator-2"]).abs().mean() == pytest.approx(1.9052, abs=5e-5)


@pytest.mark.data
def test_the_released_evaluation_of_rationales(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("rationale-evaluation", data_dir / "appraisals")
    assert (len(corpus.items), len(corpus.raters)) == (186 + 195, 4)
    assert len(corpus.judgments) == (372 + 390) * 4
    assert (corpus.judgments.group_by("item", "question").len()["len"] == 2).all()
    assert corpus.items["rationale"].null_count() == 4
    means = corpus.with_columns_of(["source"]).group_by("source", "question").agg(pl.col("value").mean())
    found = {(source, question): value for source, question, value in means.iter_rows()}
    assert found["gold", "factuality"] == pytest.approx(0.729, abs=5e-4)
    assert found["chatgpt", "consistency"] == pytest.approx(0.931, abs=5e-4)
    assert found["alpaca-7B", "usefulness"] == pytest.approx(0.508, abs=5e-4)
    # Relevance is published from 0 to 1.
    assert (found["flan-t5-xxl", "relevance"] - 1) / 4 == pytest.approx(0.294, abs=5e-4)
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus
