"""The reader of iSarcasmEval's English part."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError

CATEGORIES = "sarcasm,irony,satire,understatement,overstatement,rhetorical_question"
FILES = {
    "train/train.En.csv": f",tweet,sarcastic,rephrase,{CATEGORIES}\n"
    '0,"Great, rain",1,"It rains, sadly",1,1,0,0,0,0\n1,,0,,,,,,,\n2,Hello,0,,,,,,,\n',
    "test/task_A_En_test.csv": 'text,sarcastic\n"Two\nlines",0\nOh joy,1\n',
    "test/task_B_En_test.csv": f'text,{CATEGORIES}\nOh joy,0,1,0,0,0,1\n"Two\nlines",0,0,0,0,0,0\n',
    "third-party/english_task_a.csv": "text,sarcasm_ref,human_aggregated,#humans_sarcasm\r\n"
    '"Two\r\nlines",0,0,2\r\nOh joy,1,1,5\r\n',
}


def write(folder: Path, **changed: str) -> Path:
    names = {"train": "train/train.En.csv", "a": "test/task_A_En_test.csv", "b": "test/task_B_En_test.csv"}
    names["votes"] = "third-party/english_task_a.csv"
    for name, content in {**FILES, **{names[key]: value for key, value in changed.items()}}.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content.encode())
    return folder


def test_authors_and_readers_are_raters(tmp_path: Path) -> None:
    corpus = load("isarcasm", write(tmp_path / "release"))
    assert corpus.raters.rows() == [
        ("author", "author"),
        *((f"reader-{seat}", "slot") for seat in range(1, 6)),
    ]
    author = corpus.filter(rater="author").judgments.select("item", "condition", "value").rows()
    assert author == [
        ("train-0", "author", 1.0),
        ("train-1", "author", 0.0),
        ("train-2", "author", 0.0),
        ("test-0", "author", 0.0),
        ("test-1", "author", 1.0),
    ]
    votes = corpus.filter(kind="slot").judgments
    assert votes.filter(item="test-0")["value"].to_list() == [1, 1, 0, 0, 0]
    assert votes.filter(item="test-1")["value"].to_list() == [1, 1, 1, 1, 1]
    assert set(votes["condition"]) == {"static"}
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


def test_what_is_released_stays_with_the_items(tmp_path: Path) -> None:
    items = load("isarcasm", write(tmp_path)).items
    assert items["text"].to_list() == ["Great, rain", None, "Hello", "Two\nlines", "Oh joy"]
    assert items["rephrase"].to_list() == ["It rains, sadly", None, None, None, None]
    assert items["author_sarcastic"].to_list() == [1, 0, 0, 0, 1]
    assert items["votes"].to_list() == [None, None, None, 2, 5]
    assert items["human_aggregated"].to_list() == [None, None, None, 0, 1]
    assert items["category_irony"].to_list() == [1, None, None, 0, 1]
    assert items["category_rhetorical_question"].to_list() == [0, None, None, 0, 1]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"a": ""}, "task_A_En_test.csv: the file is empty"),
        ({"a": "tweet,sarcastic\nx,1\n"}, "task_A_En_test.csv: there is no column 'text'"),
        ({"a": "text,sarcastic\nx,2\n"}, "row 2, column 'sarcastic': '2' is not a whole number from 0 to 1"),
        ({"a": "text,sarcastic\nx,\n"}, "row 2, column 'sarcastic': '' is not a whole number from 0 to 1"),
        ({"a": "text,sarcastic\nx,yes\n"}, "row 2, column 'sarcastic': 'yes' is not a number"),
        ({"a": "text,sarcastic\nx,nan\n"}, "row 2, column 'sarcastic': 'nan' is not a whole number"),
        ({"votes": FILES["third-party/english_task_a.csv"].replace(",5", ",6")}, "'6' is not a whole number"),
        (
            {"votes": FILES["third-party/english_task_a.csv"].replace("joy", "dear")},
            "english_task_a.csv, row 3: the votes are not in step with the test tweets",
        ),
        (
            {"votes": FILES["third-party/english_task_a.csv"].replace("joy,1,", "joy,0,")},
            "english_task_a.csv, row 3: the votes are not in step",
        ),
        (
            {"votes": FILES["third-party/english_task_a.csv"].rpartition("Oh")[0]},
            "english_task_a.csv, row 2: the votes are not in step",
        ),
        (
            {"b": FILES["test/task_B_En_test.csv"].replace("Oh joy", "Oh")},
            "task_B_En_test.csv: the categories do not name every test tweet exactly once",
        ),
        (
            {"b": FILES["test/task_B_En_test.csv"] + "Oh joy,0,0,0,0,0,0\n"},
            "task_B_En_test.csv: the categories do not name every test tweet exactly once",
        ),
        ({"train": "a,b\n1,2\n"}, "'tweet', 'sarcastic', 'rephrase'"),
    ],
)
def test_faulty_files_are_named(tmp_path: Path, changed: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as caught:
        load("isarcasm", write(tmp_path, **changed))
    assert told in str(caught.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(InputError, match="this is a file; name the folder"):
        load("isarcasm", folder / "train" / "train.En.csv")
    (folder / "third-party" / "english_task_a.csv").unlink()
    with pytest.raises(InputError, match=r"no file third-party\*/english_task_a\.csv"):
        load("isarcasm", folder)


@settings(max_examples=30)
@given(
    cut=st.integers(0, 130),
    junk=st.sampled_from([b"", b'"', b"\xff", b"\r\n", b",,", b"\x00"]),
    name=st.sampled_from(sorted(FILES)),
)
def test_a_damaged_file_never_escapes_as_a_traceback(tmp_path: Path, cut: int, junk: bytes, name: str) -> None:
    folder = write(tmp_path)
    good = FILES[name].encode()
    (folder / name).write_bytes(good[:cut] + junk + good[cut + 1 :])
    told = ""
    try:
        corpus = load("isarcasm", folder)
    except InputError as error:
        told = str(error)
    assert ".csv" in told or set(corpus.judgments["value"]) <= {0.0, 1.0}


@pytest.mark.data
def test_the_release(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("isarcasm", data_dir / "social-cognition" / "isarcasmeval")
    assert corpus.items.group_by("split", maintain_order=True).agg(
        pl.len(), pl.col("author_sarcastic").sum()
    ).rows() == [("train", 3468, 867), ("test", 1400, 200)]
    assert len(corpus.judgments) == 3468 + 1400 * 6
    assert corpus.items.filter(pl.col("text").is_null())["item"].to_list() == ["train-1062"]
    votes = corpus.items["votes"].drop_nulls()
    assert [(votes == count).sum() for count in range(6)] == [605, 300, 170, 120, 84, 121]
    test = corpus.items.filter(pl.col("split") == "test")
    assert ((test["votes"] >= 3) == (test["human_aggregated"] == 1)).all()
    # The majority of the readers finds the authors' label with accuracy .855.
    assert (test["human_aggregated"] == test["author_sarcastic"]).mean() == pytest.approx(0.855, abs=5e-4)
    sarcastic = corpus.items.filter(pl.col("author_sarcastic") == 1)
    kinds = [name for name in sarcastic.columns if name.startswith("category_")]
    assert sarcastic.select(pl.sum_horizontal(kinds)).to_series().is_between(1, 3).all()
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus
