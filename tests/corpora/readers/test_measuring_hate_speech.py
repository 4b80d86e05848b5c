from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError

COMPONENTS = ("sentiment", "respect", "insult", "humiliate", "status", "dehumanize", "violence", "genocide")


def row(comment: int, annotator: int, **changes: Any) -> dict[str, Any]:
    return {
        "comment_id": comment,
        "annotator_id": annotator,
        "platform": 3,
        **dict.fromkeys(COMPONENTS, 1.0),
        "attack_defend": 4.0,
        "hatespeech": 2.0,
        "hate_speech_score": 0.25 * comment,
        "text": f"An invented comment {comment}.",
        "infitms": 0.9,
        "outfitms": 0.8,
        "annotator_severity": 0.1 * annotator,
        "std_err": 0.3,
        "annotator_infitms": 1.1,
        "annotator_outfitms": 1.2,
        "hypothesis": -0.1,
        "target_race_asian": True,
        "target_race": True,
        "target_religion_muslim": False,
        "target_religion": False,
        "annotator_gender": "female",
        "annotator_trans": "no",
        "annotator_educ": "some_college",
        "annotator_income": "10k-50k",
        "annotator_ideology": "liberal",
        "annotator_gender_men": False,
        "annotator_race_asian": annotator == 2,
        "annotator_race_white": annotator < 3,
        "annotator_age": 30.0 + annotator,
        "annotator_religion_atheist": True,
        **changes,
    }


ROWS = [row(10, 1), row(10, 2, hatespeech=0.0), row(11, 1), row(11, 3)]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_reads_the_release(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"measuring-hate-speech.{suffix}"
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(file) if suffix == "parquet" else frame.write_csv(file)
    corpus = load("measuring-hate-speech", tmp_path)
    assert len(corpus.judgments) == 4 * 12
    assert corpus.items["item"].to_list() == ["10", "11"]
    assert corpus.items["hate_speech_score"].to_list() == [2.5, 2.75]
    assert corpus.raters["race"].to_list() == ["white", "asian; white", None]
    assert corpus.raters["religion"].to_list() == ["atheist"] * 3
    assert corpus.raters["gender"].to_list() == ["female"] * 3
    assert corpus.raters["age"].to_list() == [31, 32, 33]
    assert corpus.raters["severity"].to_list() == pytest.approx([0.1, 0.2, 0.3])
    assert corpus.filter(question="hatespeech").judgments["value"].to_list() == [2, 0, 2, 2]
    assert corpus.filter(question="attack-defend").judgments["value"].to_list() == [4] * 4
    assert corpus.filter(question="target_race").judgments["value"].to_list() == [1] * 4
    assert corpus.filter(question="target_religion").judgments["value"].to_list() == [0] * 4
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


def test_targets_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "mhs.parquet"
    pl.DataFrame(ROWS).write_parquet(file)
    assert len(load("measuring-hate-speech", file, targets="all").judgments) == 4 * 14
    assert len(load("measuring-hate-speech", file, targets="none").judgments) == 4 * 10
    with pytest.raises(InputError, match="no targets 'some'; use groups, all, none"):
        load("measuring-hate-speech", file, targets="some")


def test_what_differs_between_rows_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "mhs.csv"
    pl.DataFrame([row(1, 1), row(2, 1, annotator_age=70.0), row(1, 1)]).write_csv(file)
    notes = " ".join(load("measuring-hate-speech", file).about.notes)
    assert "12 judgments stood twice" in notes
    assert "1 raters are described differently" in notes


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"insult": "lots"}, "row 2, column 'insult': 'lots' is not a number"),
        ({"hatespeech": 7.0}, "7 is not on the scale of question 'hatespeech'"),
        ({"target_race": "maybe"}, "row 2, column 'target_race': 'maybe' is neither true nor false"),
        ({"comment_id": None}, "row 2, column 'comment_id': the cell is empty"),
    ],
)
def test_bad_cells(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    file = tmp_path / "mhs.csv"
    pl.DataFrame([row(1, 1, **change)]).write_csv(file)
    with pytest.raises(InputError, match=told):
        load("measuring-hate-speech", file)


def test_bad_files(tmp_path: Path) -> None:
    file = tmp_path / "mhs.parquet"
    file.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        load("measuring-hate-speech", file)
    pl.DataFrame({"comment_id": [1]}).write_parquet(file)
    with pytest.raises(InputError, match="there are no columns 'annotator_id', 'text', 'sentiment'"):
        load("measuring-hate-speech", file)
