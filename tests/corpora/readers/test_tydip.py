"""The reader of TyDiP's English part."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError

FILES = {
    # The second "Why?" has the more extreme score; the binary file prints the first one's.
    "all/en_train.csv": 'sentence,score\n"Please, could you?",1.5\nWhy?,-0.1\nWell.,0.2\nWhy?,-1.75\n',
    "binary/en_train_binary.csv": 'sentence,score\n"Please, could you?",1.4999999999999998\nWhy?,-0.1\n',
    "all/en_test.csv": "sentence,score\nWhy?,-0.9\n",
    "binary/en_test_binary.csv": "sentence,score\nWhy?,-0.9\n",
}


def write(folder: Path, **changed: str) -> Path:
    for name, content in {
        **FILES,
        **{key.replace("__", "/") + ".csv": v for key, v in changed.items()},
    }.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(content)
    return folder


def test_scores_are_the_judgments_of_one_aggregate(tmp_path: Path) -> None:
    corpus = load("tydip", write(tmp_path / "tydip"))
    assert corpus.raters.rows() == [("released-score", "aggregate")]
    assert corpus.judgments.select("item", "question", "value").rows() == [
        ("train-1", "politeness-score", 1.5),
        ("train-2", "politeness-score", -0.1),
        ("train-3", "politeness-score", 0.2),
        ("train-4", "politeness-score", -1.75),
        ("test-1", "politeness-score", -0.9),
    ]
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


def test_a_repeated_sentence_is_labelled_by_its_own_score(tmp_path: Path) -> None:
    items = load("tydip", write(tmp_path)).items
    assert items["text"].to_list() == ["Please, could you?", "Why?", "Well.", "Why?", "Why?"]
    assert items["binary"].to_list() == ["polite", None, None, "impolite", "impolite"]
    assert items["split"].to_list() == ["train"] * 4 + ["test"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"all__en_train": ""}, "en_train.csv: the file is empty"),
        ({"all__en_train": "sentence,score\n"}, "en_train.csv: the file has a header but no rows"),
        ({"all__en_test": "text,score\na,1\n"}, "en_test.csv: there is no column 'sentence'"),
        (
            {"all__en_test": "sentence,score\nWhy?,polite\n"},
            "row 2, column 'score': 'polite' is not a number",
        ),
        (
            {"all__en_test": "sentence,score\nWhy?,7\n"},
            "row 2, column 'score': '7' is not a standardised score",
        ),
        ({"all__en_test": "sentence,score\nWhy?,\n"}, "row 2, column 'score'"),
        ({"all__en_test": "sentence,score\nWhy?,NaN\n"}, "row 2, column 'score'"),
        ({"all__en_test": "sentence,score\nWhy?,1\n,1\n"}, "row 3, column 'sentence': the cell is empty"),
        ({"binary__en_test_binary": "sentence,score\nWho?,1\n"}, "a sentence that is not here: 'Who?'"),
    ],
)
def test_faulty_files_are_named(tmp_path: Path, changed: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as caught:
        load("tydip", write(tmp_path, **changed))
    assert told in str(caught.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(InputError, match="this is a file; name the folder"):
        load("tydip", folder / "all" / "en_test.csv")
    (folder / "binary" / "en_test_binary.csv").unlink()
    with pytest.raises(InputError, match=r"no file binary/en_test_binary\.csv"):
        load("tydip", folder)
    with pytest.raises(InputError, match="no such file or folder"):
        load("tydip", folder / "nowhere")


@settings(max_examples=30)
@given(cut=st.integers(0, 90), junk=st.sampled_from([b"", b'"', b"\xff", b"\r\n", b",,", b"\x00"]))
def test_a_damaged_file_never_escapes_as_a_traceback(tmp_path: Path, cut: int, junk: bytes) -> None:
    folder = write(tmp_path)
    file = folder / "all" / "en_train.csv"
    good = FILES["all/en_train.csv"].encode()
    file.write_bytes(good[:cut] + junk + good[cut + 1 :])
    told = ""
    try:
        corpus = load("tydip", folder)
    except InputError as error:
        told = str(error)
    assert "en_train.csv" in told or len(corpus.items) == len(corpus.judgments)


@pytest.mark.data
def test_the_release(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("tydip", data_dir / "social-cognition" / "tydip")
    counts = corpus.items.group_by("split", "binary").len()
    assert set(counts.rows()) == {
        ("train", "polite", 954),
        ("train", "impolite", 973),
        ("train", None, 3853 - 1927),
        ("test", "polite", 135),
        ("test", "impolite", 116),
        ("test", None, 500 - 251),
    }
    scored = corpus.with_columns_of(["binary", "text", "split"])
    ends = scored.group_by("binary").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
    by_label = {row["binary"]: row for row in ends.iter_rows(named=True)}
    # The quarters are cut at -0.443 and 0.514 of both splits together.
    assert by_label["impolite"]["high"] == pytest.approx(-0.443, abs=1e-3)
    assert by_label["polite"]["low"] == pytest.approx(0.514, abs=1e-3)
    assert by_label[None]["low"] > by_label["impolite"]["high"]
    assert by_label[None]["high"] < by_label["polite"]["low"]
    splits = scored.group_by("text").agg(pl.col("split").n_unique(), pl.len())
    assert (splits["split"] == 2).sum() == 3
    assert (splits.filter(pl.col("split") == 1)["len"] == 2).sum() == 12
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus
