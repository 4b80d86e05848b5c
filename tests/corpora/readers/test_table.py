from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import Corpus, InputError
from vantage.corpora.preview import preview
from vantage.corpora.readers import load
from vantage.corpora.readers.table import read

LONG = "sentence,who,score,age\nHi there,ann,4,31\nHi there,bob,2,44\nGo away,ann,1,31\n"


def written(folder: Path, data: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(data, encoding="utf-8")
    return path


def test_a_long_table_with_a_mapping(tmp_path: Path) -> None:
    path = written(tmp_path, "id,sentence,who,score,age,why\n7,Hi,ann,4,31,nice\n7,Hi,bob,2,44,\n8,Go,ann,1,31,rude\n")
    mapping = {"item": "id", "text": "sentence", "rater": "who", "value": "score", "rationale": "why"}
    corpus = load("table", path, map=mapping, question="kind", traits=["age"])
    assert corpus.items.rows() == [("7", "Hi"), ("8", "Go")]
    assert corpus.raters.rows() == [("ann", "person", 31), ("bob", "person", 44)]
    assert corpus.judgments["value"].to_list() == [4, 2, 1]
    assert corpus.judgments["rationale"].to_list() == ["nice", None, "rude"]
    assert corpus.questions[0].id == "kind"
    assert list(corpus.questions[0].scale.codes) == [1, 2, 3, 4]
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus


def test_texts_serve_as_items_where_there_is_no_id(tmp_path: Path) -> None:
    corpus = read(written(tmp_path, LONG), map={"text": "sentence", "rater": "who", "value": "score"})
    assert corpus.items.rows() == [("item-1", "Hi there"), ("item-2", "Go away")]
    assert corpus.about.notes == ("Columns that were not read: age.",)


def test_columns_with_the_names_of_roles_need_no_mapping(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "item,rater,value,question,condition,sample,target\na,r,1,warm,static,0,X\na,r,0,warm,static,1,X\n",
    )
    corpus = read(path, map={"target": "target"})
    assert corpus.judgments.select("condition", "sample").rows() == [("static", 0), ("static", 1)]
    assert corpus.items["target"].to_list() == ["X"]


def test_one_column_per_rater(tmp_path: Path) -> None:
    path = written(tmp_path, "id,text,ann,bob\n1,Hi,4,2\n2,Go,,1\n")
    corpus = read(path, map={"item": "id"}, columns="rater", question="kind")
    assert corpus.judgments.select("item", "rater", "value").rows() == [
        ("1", "ann", 4),
        ("1", "bob", 2),
        ("2", "bob", 1),
    ]
    assert corpus.raters["rater"].to_list() == ["ann", "bob"]


def test_a_wide_value_off_the_scale_is_named_with_its_cell(tmp_path: Path) -> None:
    path = written(tmp_path, "item,ann,bob\n1,2,3\n2,1,9\n")
    with pytest.raises(InputError, match=r"t\.csv, row 3, column 'bob': 9 is not on the scale of question 'trust'"):
        read(path, columns="rater", instrument="warmth-competence", question="trust")


def test_labels_and_opt_outs_of_the_instrument_are_understood(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,r,Yes\na,s,no\na,t,ambiguous\na,u,1\n")
    corpus = read(path, instrument="sarcasm")
    assert corpus.judgments["value"].to_list() == [1, 0, None, 1]
    assert corpus.judgments["status"].to_list() == ["answered", "answered", "ambiguous", "answered"]
    path = written(tmp_path, "item,rater,value\na,r,yes\na,s,perhaps\n")
    with pytest.raises(InputError, match=r"row 3, column 'value': 'perhaps' is neither a number nor an answer"):
        read(path, instrument="sarcasm")


def test_words_without_an_instrument_become_a_nominal_scale(tmp_path: Path) -> None:
    corpus = read(written(tmp_path, "item,rater,value\na,r,red\na,s,blue\nb,r,red\n"))
    scale = corpus.questions[0].scale
    assert (scale.level, [o.label for o in scale.options]) == ("nominal", ["blue", "red"])
    assert corpus.judgments["value"].to_list() == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "level", "described"),
    [
        (["1", "5", "3"], "ordinal", "1…5 (ordinal)"),
        (["0", "1", "1"], "nominal", "0, 1 (nominal)"),
        (["0.5", "1", "2"], "interval", "any number from 0.5 to 2 (interval)"),
        (["0", "1000", "7"], "interval", "any number from 0 to 1000 (interval)"),
        (["3", "3", "3"], "ordinal", "0…3 (ordinal)"),
    ],
)
def test_scales_are_inferred_from_the_values(tmp_path: Path, values: list[str], level: str, described: str) -> None:
    rows = "".join(f"a,r{n},{value}\n" for n, value in enumerate(values))
    scale = read(written(tmp_path, f"item,rater,value\n{rows}")).questions[0].scale
    assert (scale.level, scale.describe()) == (level, described)


def test_an_empty_value_must_be_explained(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,r,1\na,s,\nb,r,\n")
    with pytest.raises(
        InputError, match=r"row 3, column 'value': the cell is empty \(2 in all\); say what .* --empty skip"
    ):
        read(path)
    assert read(path, empty="skip").judgments.height == 1
    declined = read(path, empty="not_mentioned")
    assert declined.judgments["status"].to_list() == ["answered", "not_mentioned", "not_mentioned"]
    with pytest.raises(InputError, match="'nothing' is not a meaning"):
        read(path, empty="nothing")


def test_a_status_column_says_why_there_is_no_value(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value,status\na,r,1,\na,s,,refused\n")
    assert read(path).judgments["status"].to_list() == ["answered", "refused"]
    path = written(tmp_path, "item,rater,value,status\na,r,1,\na,s,,shrugged\n")
    with pytest.raises(InputError, match=r"row 3, column 'status': 'shrugged' is not a status"):
        read(path)
    path = written(tmp_path, "item,rater,value,status\na,r,1,\na,s,,\n")
    with pytest.raises(InputError, match=r"row 3, column 'status': the cell is empty"):
        read(path)


def test_duplicates_are_refused_or_resolved(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,r,1\nb,r,2\na,r,4\n")
    with pytest.raises(InputError, match=r"row 4: item 'a', question 'value', rater 'r' was judged already in row 2"):
        read(path)
    assert read(path, duplicates="first").judgments["value"].to_list() == [1, 2]
    assert read(path, duplicates="last").judgments.sort("item")["value"].to_list() == [4, 2]
    halves = read(path, duplicates="mean")
    assert halves.judgments["value"].to_list() == [2.5, 2]
    assert halves.questions[0].scale.level == "interval"
    with pytest.raises(InputError, match=r"2.5 is not on the scale"):
        read(
            written(tmp_path, "item,rater,value\na,r,2\na,r,3\n"),
            duplicates="mean",
            instrument="warmth-competence",
            question="trust",
        )
    path = written(tmp_path, "item,rater,value\na,r,1\nb,r,2\na,r,3\n")
    assert read(path, duplicates="mean").judgments["value"].to_list() == [2, 2]


@pytest.mark.parametrize(
    ("data", "options", "sentence"),
    [
        ("a,b\n1,2\n", {}, "no column is mapped to the item; the table has 'a', 'b'; pass --map item=COLUMN"),
        ("item,rater,value\na,r,1\n", {"map": {"item": "id"}}, "there is no column 'id' for 'item'"),
        ("item,rater,value\na,r,1\n", {"traits": ["age"]}, "there is no column 'age'"),
        ("item,rater,value\na,,1\n", {}, "row 2, column 'rater': the rater is empty"),
        (
            "item,rater,value\na,r,1\nb,r,five\n",
            {},
            "row 3, column 'value': 'five' is not a number, although",
        ),
        (
            "item,rater,value\na,r,1\nb,r,nan\n",
            {},
            "row 3, column 'value': 'nan' may mean that there is no answer; pass --missing=nan",
        ),
        ("item,rater,value\na,r,1\nb,r,inf\n", {}, "'inf' is not a number, although other cells are"),
        (
            "item,rater,value,text\na,r,1,x\na,s,1,y\n",
            {},
            "row 3, column 'text': item 'a' has a different value",
        ),
        (
            "item,rater,value,age\na,r,1,30\nb,r,1,31\n",
            {"traits": ["age"]},
            "rater 'r' has a different value",
        ),
        (
            "item,rater,value\na,r,9\n",
            {"instrument": "sarcasm"},
            "row 2, column 'value': 9 is not on the scale",
        ),
        ("item,rater,value\na,r,1\n", {"instrument": "warmth-competence"}, "say which with --question"),
        ("item,rater,value\na,r,1\n", {"instrument": "sarcsm"}, "did you mean 'sarcasm'"),
        ("item,rater,value,question\na,r,1,q\n", {"question": "q"}, "has a column for the question"),
        ("item,rater,value,sample\na,r,1,x\n", {}, "row 2, column 'sample': 'x' is not a number"),
        ("item,rater,value\na,r,1\n", {"duplicates": "middle"}, "use first, last or mean"),
        ("item,value\na,1\n", {"columns": "rater", "map": {"x": "value"}}, "no column is left for a rater"),
    ],
)
def test_each_fault_gets_one_sentence(tmp_path: Path, data: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, data), **options)
    assert sentence in str(caught.value)


def test_json_lines_parquet_and_tsv_read_alike(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["r", "s", "r"], "value": [1, 0, 1]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    tables = [read(tmp_path / f"t.{suffix}").judgments for suffix in ("parquet", "jsonl", "tsv")]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_true_and_false_are_one_and_nought(tmp_path: Path) -> None:
    pl.DataFrame({"item": ["a", "b"], "rater": "r", "value": [True, False]}).write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").judgments["value"].to_list() == [1, 0]


cells = st.text(st.sampled_from('ab1.-,"\n é'), max_size=5)


@given(st.lists(st.tuples(cells, cells, cells), max_size=6))
def test_no_table_escapes_as_a_traceback(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    frame = pl.DataFrame(rows, schema={"item": pl.String, "rater": pl.String, "value": pl.String}, orient="row")
    frame.write_csv(tmp_path / "t.csv")
    try:
        corpus = read(tmp_path / "t.csv", empty="skip", duplicates="first")
    except InputError as error:
        assert str(error)
    else:
        assert Corpus.read(corpus.write(tmp_path / "c")) == corpus


def test_a_column_with_a_role_is_no_trait() -> None:
    frame = pl.DataFrame({"item": ["a", "a"], "rater": ["x", "y"], "value": [1, 2], "kind": ["person", "model"]})
    with pytest.raises(InputError, match="'kind' is read as something other than a trait"):
        read(frame, traits=["kind"])


def test_models_and_aggregates_beside_people_are_a_doubt_until_it_is_said_what_they_are() -> None:
    names = ["ann", "Claude", "gpt-4o", "GPT 4", "majority", "Gemma Smith", "modelling club", "Meta/llama3"]
    frame = pl.DataFrame({"item": [1, 2], **{name: [0, 1] for name in names}})
    with pytest.raises(InputError, match="rater 'Claude' looks like a model and would count as a person") as doubt:
        load("table", frame, map={"item": "item"}, columns="rater")
    assert "--kinds Claude=model,gpt-4o=model,GPT 4=model,Meta/llama3=model,majority=aggregate" in str(doubt.value)
    kinds = {"gpt-4o": "model", "GPT 4": "model", "Meta/llama3": "model", "majority": "aggregate"}
    with pytest.raises(InputError, match="--kinds Claude=model, or RATER=person for people"):
        load("table", frame, map={"item": "item"}, columns="rater", kinds=kinds)
    corpus = load("table", frame, map={"item": "item"}, columns="rater", kinds={**kinds, "Claude": "person"})
    assert {rater: kind for rater, kind in corpus.raters.select("rater", "kind").rows() if kind != "person"} == kinds


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [({"gtp-4": "model"}, "no rater is 'gtp-4'; did you mean 'gpt-4'"), ({"gpt-4": "modell"}, "not a kind of rater")],
)
def test_kinds_of_unknown_raters_and_unknown_kinds_are_refused(kinds: dict[str, str], problem: str) -> None:
    frame = pl.DataFrame({"item": [1, 1], "rater": ["ann", "gpt-4"], "value": [1, 2]})
    with pytest.raises(InputError, match=problem):
        load("table", frame, kinds=kinds)
    with pytest.raises(InputError, match="the table has a column for the kind"):
        load("table", frame.with_columns(kind=pl.Series(["person", "model"])), kinds={"gpt-4": "model"})


def test_answers_in_lists_are_to_be_written_in_rows(tmp_path: Path) -> None:
    file = tmp_path / "nested.jsonl"
    file.write_text('{"item": 1, "text": "x", "annotations": [{"worker": "a", "label": 1}]}\n')
    with pytest.raises(InputError, match=r"mapped to the rater.* if 'annotations' holds the answers, pass --lists"):
        read(file)


def _rated(made: Callable[[Sequence[int]], float] | None) -> pl.DataFrame:
    """Nine people on 25 things, and a tenth row each that is made of theirs, under names that tell nothing."""
    rng = np.random.default_rng(5)
    places = rng.normal(0, 1, 25)
    answers = np.clip(np.round(3 + places + rng.normal(0, 0.8, (9, 25))), 1, 5)
    rows = [(f"d{i}", f"w{r}", float(answers[r, i])) for r in range(9) for i in range(25)]
    if made:
        rows += [(f"d{i}", "w9", float(made([int(value) for value in answers[:, i]]))) for i in range(25)]
    return pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")


@pytest.mark.parametrize(
    ("word", "made"),
    [
        ("mean", lambda values: round(statistics.fmean(values), 2)),
        ("rounded mean", lambda values: round(statistics.fmean(values))),
        ("median", statistics.median_low),
        ("commonest answer", statistics.mode),
    ],
)
def test_a_rater_that_is_made_of_the_others_is_a_doubt(word: str, made: Callable[[Sequence[int]], float]) -> None:
    with pytest.raises(InputError, match=f"'w9' are the {word} of the others' on every item") as doubt:
        load("table", _rated(made))
    if word == "mean":
        assert "without" in str(doubt.value)
        settled = load("table", _rated(made), without=["w9"])
        assert len(settled.raters) == 9
    else:
        assert load("table", _rated(made), kinds={"w9": "aggregate"}).people().raters["rater"].to_list()[-1] == "w8"
    assert len(load("table", _rated(made), kinds={"w9": "person"}).people().raters) == 10


def test_people_who_agree_with_the_others_are_people() -> None:
    assert len(load("table", _rated(None)).raters) == 9
    alike = [(f"d{i}", f"w{r}", 1.0 + i % 3) for r in range(6) for i in range(12)]
    assert len(load("table", pl.DataFrame(alike, schema=["item", "rater", "value"], orient="row")).raters) == 6


def test_a_name_that_people_and_models_have_leaves_two_readings_and_one_with_a_version_does_not() -> None:
    def previewed(name: str) -> dict[str, Any]:
        rows = [(f"t{n}", rater, n % 3) for n in range(6) for rater in ("Anna", name, "Cem")]
        return preview(pl.DataFrame(rows, schema=["text_id", "who", "answer"], orient="row"))

    facts = previewed("Bert")
    assert facts["command"] is None
    assert facts["doubt"] == "rater 'Bert' looks like a model and would count as a person"
    assert [reading["why"] for reading in facts["readings"]] == ["Bert is a model", "Bert is a person"]
    assert [
        "--kinds Bert=model" in facts["readings"][0]["command"],
        "--kinds Bert=person" in facts["readings"][1]["command"],
    ]
    assert [reading["questions"][0]["question"] for reading in facts["readings"]] == ["answer", "answer"]
    assert "--kinds gpt-4=model" in previewed("gpt-4")["command"]
