from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from vantage import Corpus


def written(folder: Path, data: str) -> Path:
    path = folder / "mine.csv"
    path.write_text(data, encoding="utf-8")
    return path


def test_readers_are_listed_with_their_homes(vantage: Vantage) -> None:
    rows = {row["reader"]: row for row in vantage("corpora", "--json").json}
    assert {"table", "wcsent", "hs-brexit", "mp", "appraisals", "isarcasm", "dices", "epic", "potato"} <= set(rows)
    assert all(row["home"] for row in rows.values())
    assert "wcsent" in vantage("corpora").out


def test_a_long_table_is_imported_with_a_mapping(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "id,sentence,who,score,q,age\n1,Hi,ann,3,kind,30\n1,Hi,bob,1,kind,40\n")
    mapping = "item=id,rater=who,value=score,text=sentence,question=q"
    done = vantage(
        "corpora",
        "import",
        "table",
        "--from",
        path,
        "--map",
        mapping,
        "--traits",
        "age",
        "--to",
        tmp_path / "c",
    )
    assert done.code == 0, done.err
    assert "1 items, 2 raters, 2 judgments" in done.out
    assert Corpus.read(tmp_path / "c").raters["age"].to_list() == [30, 40]


def test_a_wide_table_is_imported(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,ann,bob\na,1,2\nb,3,\n")
    words = ("--wide", "--question", "trust", "--instrument", "warmth-competence")
    done = vantage("corpora", "import", "table", "--from", path, *words, "--to", tmp_path / "c", "--json")
    assert done.json["judgments"] == 3


@pytest.mark.parametrize(
    ("data", "words", "sentence"),
    [
        (
            "item,rater,value\na,r,9\n",
            ("--instrument", "sarcasm"),
            "row 2, column 'value': 9 is not on the scale",
        ),
        (
            "item,rater,value\na,r,1\na,r,2\n",
            (),
            "row 3: item 'a', question 'value', rater 'r' was judged already in row 2",
        ),
        ("item,rater\na,r\n", (), "is the value?"),
        ("", (), "the file is empty"),
        ("item,rater,value\na,r,1\n", ("--map", "item"), "--map takes NAME=VALUE, not 'item'"),
        ("item,rater,value\na,r,1\n", ("--option", "x=1"), "reader 'table' has no option 'x'"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_no_folder(
    vantage: Vantage, tmp_path: Path, data: str, words: tuple[str, ...], sentence: str
) -> None:
    path = written(tmp_path, data)
    done = vantage("corpora", "import", "table", "--from", path, "--to", tmp_path / "c", *words)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv"]


def test_duplicates_are_resolved_on_request(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,r,1\na,r,3\n")
    words = ("corpora", "import", "table", "--from", path, "--to", tmp_path / "c", "--duplicates")
    assert vantage(*words, "mean").code == 0
    assert Corpus.read(tmp_path / "c").judgments["value"].to_list() == [2]


def test_an_unknown_reader_suggests_the_nearest(vantage: Vantage, tmp_path: Path) -> None:
    done = vantage("corpora", "import", "wcsnt", "--from", tmp_path, "--to", tmp_path / "c")
    assert (done.code, done.err) == (2, "vantage: there is no reader 'wcsnt'; did you mean 'wcsent'?\n")


def test_describe_speaks_to_people_and_to_programs(vantage: Vantage, demo: Path) -> None:
    told = vantage("corpora", "describe", demo, "--json").json
    assert (told["items"], told["raters"], told["targets"]) == (30, 9, 6)
    shown = vantage("corpora", "describe", demo).out
    assert "30 items, 6 targets, 9 raters, 741 judgments" in shown
    assert "synthetic" in shown


def test_validate_ends_with_2_when_something_is_wrong(vantage: Vantage, demo: Path) -> None:
    assert vantage("corpora", "validate", demo).code == 0
    path = demo / "judgments.parquet"
    pl.read_parquet(path).with_columns(pl.lit(8.0).alias("value")).write_parquet(path)
    done = vantage("corpora", "validate", demo, "--json")
    assert done.code == 2
    assert any("8 is not on the scale" in row["problem"] for row in done.json)


def test_filter_merge_and_traits(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    for name, question in (("t", "trust"), ("s", "sociability,competence")):
        done = vantage("corpora", "filter", demo, "--where", f"question={question}", "--to", tmp_path / name)
        assert done.code == 0, done.err
    assert vantage("corpora", "merge", tmp_path / "t", tmp_path / "s", "--to", tmp_path / "m").code == 0
    assert Corpus.read(tmp_path / "m").judgments.height == 741
    path = written(tmp_path, "Participant id,Country\nr1,NO\nr2,PE\n")
    assert vantage("corpora", "traits", tmp_path / "m", "--from", path).code == 0
    assert Corpus.read(tmp_path / "m").raters.filter(rater="r2")["country"].to_list() == ["PE"]


@pytest.mark.parametrize("form", ["csv", "lewidi", "huggingface", "folder"])
def test_every_export_writes_something(vantage: Vantage, demo: Path, tmp_path: Path, form: str) -> None:
    to = tmp_path / ("out.csv" if form == "csv" else "out")
    done = vantage("corpora", "export", demo, "--as", form, "--to", to)
    assert done.code == 0, done.err
    assert to.exists()


def test_hostile_text_cannot_drive_the_terminal(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value,kind\na,\x1b[31mred,1,person\n")
    vantage("corpora", "import", "table", "--from", path, "--traits", "value", "--to", tmp_path / "c")
    assert "\x1b[31m" not in vantage("corpora", "describe", tmp_path / "c").out


@pytest.mark.data
def test_the_published_counts_of_wcsent(vantage: Vantage, data_dir: Path, tmp_path: Path) -> None:
    done = vantage("corpora", "import", "wcsent", "--from", data_dir / "wcsent", "--to", tmp_path / "wc")
    assert done.code == 0, done.err
    told = vantage("corpora", "describe", tmp_path / "wc", "--json").json
    assert (told["items"], told["targets"], told["raters"], told["judgments"]) == (1633, 7, 210, 25777)
