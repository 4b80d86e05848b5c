from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage import Corpus, Instrument, Scale
from vantage.corpora.prolific import known, read_traits, snake_case
from vantage.errors import InputError

HEAD = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Time taken,"
    "Completion code,Total approvals,Age,Sex,Ethnicity simplified,Country of birth,Student status"
)
BEGAN = "Not Applicable,2024-01-01T10:00:00Z"
EXPORT = f"""\
{HEAD}
s1,p1,APPROVED,{BEGAN},2024-01-01T10:10:00Z,600,ABC,12,31,Female,White,Ireland,DATA_EXPIRED
s2,p2,RETURNED,{BEGAN},,,NOCODE,3,DATA_EXPIRED,Male,Prefer not to say,CONSENT_REVOKED,Yes
s3,p3,APPROVED,{BEGAN},2024-01-01T10:05:00Z,312.5,ABC,7,44,Female,Asian,India,No
"""


def corpus() -> Corpus:
    return Corpus(
        items=pl.DataFrame({"item": ["a"]}),
        raters=pl.DataFrame({"rater": ["p1", "p3", "p9"]}),
        judgments=pl.DataFrame(
            {"item": "a", "question": "q", "rater": ["p1", "p3", "p9"], "value": [0, 1, 1]},
        ),
        instruments=Instrument.of_questions("mine", "Mine", {"q": Scale.labels("no", "yes")}),
    )


def test_reads_an_export(tmp_path: Path) -> None:
    file = tmp_path / "prolific.csv"
    file.write_bytes(b"\xef\xbb\xbf" + EXPORT.replace("\n", "\r\n").encode())
    traits = read_traits(file)
    assert traits.columns == [
        "rater",
        "age",
        "sex",
        "ethnicity_simplified",
        "country_of_birth",
        "student_status",
    ]
    assert traits["rater"].to_list() == ["p1", "p2", "p3"]
    assert traits["age"].to_list() == [31, None, 44]
    assert traits["age"].dtype == pl.Int64
    assert traits["ethnicity_simplified"].to_list() == ["White", None, "Asian"]
    assert traits["country_of_birth"].to_list() == ["Ireland", None, "India"]
    assert traits["student_status"].to_list() == [None, "Yes", "No"]


def test_joins_a_corpus(tmp_path: Path) -> None:
    file = tmp_path / "prolific.csv"
    file.write_text(EXPORT)
    joined = corpus().join_traits(read_traits(file))
    assert joined.raters["sex"].to_list() == ["Female", "Female", None]
    assert Corpus.read(joined.write(tmp_path / "out")) == joined


def test_several_submissions_of_one_participant(tmp_path: Path) -> None:
    file = tmp_path / "prolific.csv"
    file.write_text(
        "Participant id,Status,Age,Sex\np1,TIMED-OUT,30,Female\np2,APPROVED,50,Male\np1,APPROVED,31,DATA_EXPIRED\n"
    )
    assert read_traits(file).rows() == [("p1", 31, "Female"), ("p2", 50, "Male")]


def test_any_table(tmp_path: Path) -> None:
    file = tmp_path / "raters.tsv"
    file.write_text("Worker ID\tBirth Year\tRegion (self)\nw1\t1990\tNorth\nw2\tn/a\t \n")
    traits = read_traits(file, "Worker ID")
    assert traits.to_dict(as_series=False) == {
        "rater": ["w1", "w2"],
        "birth_year": [1990, None],
        "region_self": ["North", None],
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "there is no column 'rater' for the rater's id"),
        ("rater,x\n1,2\n1,3\n", "row 3, column 'rater': duplicate rater '1'"),
        ("rater,x\n1,2\n,3\n", "row 3, column 'rater': the cell is empty"),
        ("rater,Home town,home_town\n1,2,3\n", "'Home town' and 'home_town' would both be named 'home_town'"),
        ("", "the file is empty"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "raters.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=told):
        read_traits(file)


def test_names_and_values() -> None:
    assert snake_case(" Employment Status ") == "employment_status"
    assert known(pl.Series("x", ["None", "Some"])).to_list() == ["None", "Some"]
    assert known(pl.Series("x", [1.5, float("nan")])).to_list() == [1.5, None]
    assert known(pl.Series("x", ["1.5", "rather not say"])).to_list() == [1.5, None]
