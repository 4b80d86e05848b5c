"""The shapes of the field: each read in one way, and kept by a round trip."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import polars as pl
import pytest

import vantage
from vantage import Corpus, InputError
from vantage.corpora.preview import preview
from vantage.corpora.readers.table import read


def again(corpus: Corpus, folder: Path) -> Corpus:
    """The corpus after it was written as a folder, which must keep it, and then as CSV."""
    assert Corpus.read(corpus.write(folder / "c")) == corpus
    return read(vantage.export(corpus, "csv", folder / "again.csv"), instrument=corpus.instruments[0])


def cells(corpus: Corpus) -> list[tuple[str, str, str, float]]:
    return sorted(corpus.judgments.select("item", "question", "rater", "value").rows())


def test_counts_of_labels_are_people_of_whom_nothing_is_known(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["a", "b", "c", "d"], "n_1": [3, 0, 1, 2], "n_2": [1, 0, 1, 1], "n_3": [0, 4, 2, 1]})
    seen = preview(table)
    assert (
        "add up to 4 in every row: they count answers and are no raters; pass --counts n_1,n_2,n_3" in seen["problem"]
    )
    corpus = read(table, map={"item": "id"}, counts=["n_*"])
    assert corpus.sizes == {"items": 4, "raters": 4, "judgments": 16}
    assert corpus.raters["kind"].unique().to_list() == ["slot"]
    assert corpus.judgments.filter(item="a")["value"].to_list() == [1, 1, 1, 2]
    assert cells(again(corpus, tmp_path)) == cells(corpus)
    with pytest.raises(InputError, match=r"row 1, column 'n_2': '1\.5' is not a count"):
        read(table.with_columns(n_2=pl.lit(1.5)), map={"item": "id"}, counts=["n_*"])


def test_shares_of_answers_are_no_raters() -> None:
    table = pl.DataFrame({"id": ["a", "b", "c"], "p_no": [0.2, 0.5, 0.9], "p_yes": [0.8, 0.5, 0.1]})
    assert "add up to 1 in every row: they are shares of answers and no raters" in preview(table)["problem"]


def test_rows_without_raters(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["a", "a", "b", "b", "b"], "value": [1, 2, 3, 1, 2]})
    with pytest.raises(InputError, match="pass --map rater=COLUMN, or --anonymous if nothing tells who judged"):
        read(table, map={"item": "item"})
    corpus = read(table, anonymous=True)
    assert corpus.raters.rows() == [("slot-1", "slot"), ("slot-2", "slot"), ("slot-3", "slot")]
    assert cells(again(corpus, tmp_path)) == cells(corpus)


@pytest.mark.parametrize("written", ["list", "text"])
def test_lists_of_labels(tmp_path: Path, written: str) -> None:
    lists = [["joy", "love"], ["anger"], [], ["joy"]]
    labels = lists if written == "list" else ["joy|love", "anger", "", "joy"]
    table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["x", "y", "x", "y"], "emotions": labels})
    corpus = read(table, lists="emotions")
    assert [q.id for q in corpus.questions] == ["emotions: anger", "emotions: joy", "emotions: love"]
    assert corpus.judgments.filter(question="emotions: joy").sort("item", "rater")["value"].to_list() == [1, 0, 0, 1]
    assert cells(again(corpus, tmp_path)) == cells(corpus)


def test_objects_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            {
                "t1": {"text": "Hi.", "annotations": [{"rater": "a", "value": 1}, {"rater": "b", "value": 2}]},
                "t2": {"text": "Go.", "annotations": [{"rater": "a", "value": 2}]},
            }
        )
    )
    corpus = read(path, lists="annotations", map={"item": "id"})
    assert cells(corpus) == [("t1", "value", "a", 1), ("t1", "value", "b", 2), ("t2", "value", "a", 2)]


ROWS = [{"item": "a", "rater": "x", "value": 1}, {"item": "a", "rater": "y", "value": 2}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.dat", "\n".join(map(json.dumps, ROWS))),
        ("t.json", "\n".join(map(json.dumps, ROWS))),
        ("t.json", json.dumps(ROWS).replace("}]", "},]").replace('1}', '1,}')),
        ("t.json", json.dumps({"data": ROWS})),
        ("t.json", json.dumps({"r1": ROWS[0], "r2": ROWS[1]})),
        ("ratings", json.dumps(ROWS)),
    ],
)  # fmt: skip
def test_json_in_any_form(tmp_path: Path, name: str, text: str) -> None:
    (path := tmp_path / name).write_text(text)
    assert cells(read(path)) == [("a", "value", "x", 1), ("a", "value", "y", 2)]


def test_two_sheets_or_files_that_belong_together(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet, people = book.active, book.create_sheet("people")
    assert sheet is not None
    sheet.title = "ratings"
    for row in [("item", "who", "value"), ("a", "x", 1), ("a", "y", 2), ("b", "x", 2)]:
        sheet.append(row)
    for person in [("who", "age", "job"), ("x", 31, "cook"), ("y", 52, "nurse"), ("z", 40, "cook")]:
        people.append(person)
    book.save(path := tmp_path / "t.xlsx")
    corpus = read(path, sheet="ratings", join="people", map={"rater": "who"})
    assert corpus.raters.rows() == [("x", "person", 31, "cook"), ("y", "person", 52, "nurse")]
    items = tmp_path / "items.csv"
    items.write_text("item,source\na,news\nb,blog\n")
    table = pl.DataFrame({"item": ["a", "b"], "rater": ["x", "x"], "value": [1, 2]})
    assert read(table, join=items).items["source"].to_list() == ["news", "blog"]
    (tmp_path / "other.csv").write_text("item,source\nq,news\n")
    with pytest.raises(InputError, match="no 'item' of the table is in"):
        read(table, join=tmp_path / "other.csv")


def test_replies_of_models_that_were_made_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    replies = ["<think>Maybe 3?</think>Trust: 2", "I cannot tell you that, purple."]
    rows = [{"item": f"t{n}", "model": "m", "text": "He lied.", "reply": reply} for n, reply in enumerate(replies)]
    path.write_text("\n".join(map(json.dumps, rows)))
    corpus = vantage.read(path, "replies", instrument="warmth-competence", question="trust")
    assert corpus.judgments["value"].to_list() == [2, None]
    assert corpus.raters.select("rater", "kind").rows() == [("m", "model")]
    assert corpus.about.notes == ("1 of 2 replies could not be read.",)
    with pytest.raises(InputError, match="no instrument given"):
        vantage.read(path, "replies")
    path.write_text('{"item": "a", "reply": "2"}\n{"item": "b", "reply": "2"}\n')
    with pytest.raises(InputError, match="there is no column for the rater; call a column model or rater"):
        vantage.read(path, "replies", instrument="warmth-competence")
