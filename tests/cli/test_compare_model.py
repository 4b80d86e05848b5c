"""`vantage compare-model`: two files in, one page with a verdict out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.run import Done, run
from vantage import read
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.report.model_audit import people_of, with_replies

Vantage = Callable[..., Done]
TEXTS = [f"Post {number} is about topic {number % 7}." for number in range(50)]


@pytest.fixture
def vantage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vantage:
    return lambda *words: run(capsys, monkeypatch, *words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People of two groups who see posts differently, a model that follows one of them, and one that never reads."""
    place = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    mean, theirs = 3 + rng.normal(size=(2, 50))
    rows = [
        (f"p{i:02}", TEXTS[i], f"w{j:02}", "women" if j < 6 else "men", int(np.clip(np.rint(answer), 1, 5)))
        for j in range(11)
        for i, answer in enumerate((theirs if j < 6 else mean) + rng.normal(size=50) * 0.5)
    ]
    people = pl.DataFrame(rows, schema=["post", "text", "worker", "gender", "rating"], orient="row")
    people.write_csv(place / "people.csv")
    reader = np.clip(np.rint(mean), 1, 5).astype(int)
    lines = [{"post": f"p{i:02}", "model": "reader", "reply": f"Rating: {reader[i]}"} for i in range(50)]
    lines += [{"post": f"p{i:02}", "model": "blind", "reply": "3"} for i in range(50)]
    (place / "replies.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return place


def test_one_command_leads_from_two_files_to_the_page(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    done = vantage("compare-model", folder / "people.csv", folder / "replies.jsonl", "--to", tmp_path / "page")
    assert done.code == 0
    assert "blind cannot stand in for a person" in done.out
    assert "agrees with people no more than a rater that never reads" in done.out
    assert "works worse for women (gender)" in done.out
    assert "100 replies of blind, reader, 0 without an answer" in done.out
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    for title in ("The verdict", "Between a rater that never reads and a person", "For whom it works"):
        assert title in page
    texts = pl.read_parquet(tmp_path / "page" / "tables" / "gap-texts.parquet")
    assert set(texts["group"]) == {"women"}
    assert (texts["error"] > texts["rest"]).all()
    verdicts = pl.read_parquet(tmp_path / "page" / "tables" / "verdicts.parquet")
    assert dict(verdicts.select("model", "can").iter_rows()) == {"blind": "no", "reader": "no"}


def test_replies_are_read_by_what_columns_hold(folder: Path, tmp_path: Path) -> None:
    corpus = people_of(folder / "people.csv")
    assert corpus.traits == ["gender"]
    # Another order of columns, texts instead of ids, no name of the model, a reply about a post that nobody judged.
    table = pl.DataFrame(
        {"why": ["so"] * 4, "prompt": [*TEXTS[:3], "Another post."], "output": ["2", "4/5", "No.", "1"]}
    )
    table.write_csv(tmp_path / "model-x.csv")
    joined = with_replies(corpus, tmp_path / "model-x.csv")
    mine = joined.judgments.filter(rater="model-x").sort("item")
    assert mine.select("item", "value", pl.col("status").cast(pl.String)).rows() == [
        ("p00", 2.0, "answered"),
        ("p01", 4.0, "answered"),
        ("p02", None, "unparsed"),
    ]
    assert joined.about.notes[-1] == (
        "model-x.csv: 3 replies of model-x, 1 without an answer; 1 replies are about other items."
    )


def test_answers_that_are_ids_of_items_too_are_no_items(tmp_path: Path) -> None:
    people = pl.DataFrame({"post": [1, 1, 2, 2, 3, 3], "who": ["a", "b"] * 3, "score": [1, 2, 2, 3, 3, 1]})
    people = people.with_columns(text=pl.format("Post {}.", "post"))
    corpus = read(people, map={"item": "post", "text": "text", "rater": "who", "value": "score"}, question="q")
    pl.DataFrame({"model": ["m"] * 3, "score": [2, 2, 3], "post": [3, 1, 2]}).write_csv(tmp_path / "replies.csv")
    mine = with_replies(corpus, tmp_path / "replies.csv").judgments.filter(rater="m").sort("item")
    assert mine.select("item", "value").rows() == [("1", 2.0), ("2", 3.0), ("3", 2.0)]


def test_repeated_replies_are_samples_and_questions_can_be_columns(folder: Path, tmp_path: Path) -> None:
    people = people_of(folder / "people.csv")
    twice = pl.DataFrame({"post": ["p00", "p00"], "model": ["m", "m"], "answer": [1, 5]})
    twice.write_csv(tmp_path / "twice.csv")
    mine = with_replies(people, tmp_path / "twice.csv").judgments.filter(rater="m")
    assert sorted(mine.select("sample", "value").rows()) == [(0, 1.0), (1, 5.0)]


def test_models_in_a_column_of_any_name_are_not_pooled(folder: Path, tmp_path: Path) -> None:
    people = people_of(folder / "people.csv")
    rows = [
        (text, name, run, 1 + (n + run) % 5)
        for n, text in enumerate(TEXTS)
        for name in ("treu", "stur")
        for run in (1, 2)
    ]
    frame = pl.DataFrame(rows, schema=["Satz", "Modell", "Lauf", "Antwort"], orient="row")
    frame.write_csv(tmp_path / "antworten.csv")
    joined = with_replies(people, tmp_path / "antworten.csv").judgments
    mine = (
        joined.filter(pl.col("rater").is_in(["treu", "stur"])).group_by("rater", "sample").len().sort("rater", "sample")
    )
    assert mine.rows() == [("stur", 0, 50), ("stur", 1, 50), ("treu", 0, 50), ("treu", 1, 50)]


@pytest.mark.parametrize(
    ("columns", "mapping", "says"),
    [
        ({"id": ["x"], "answer": [1]}, {}, "no column has the ids or the texts"),
        ({"post": ["p00"], "note": ["hello there"]}, {}, "no column can be read as answers"),
        ({"post": ["p00"], "model": ["w00"], "answer": [1]}, {}, "'w00' is a rater of the corpus already"),
        ({"post": ["p00"], "answer": [1]}, {"item": "pots"}, "there is no column 'pots'"),
        ({"post": ["p00"], "answer": [1]}, {"score": "answer"}, "a reply has no 'score'"),
    ],
)
def test_bad_replies_end_with_a_sentence(
    folder: Path, tmp_path: Path, columns: dict[str, list[object]], mapping: dict[str, str], says: str
) -> None:
    pl.DataFrame(columns).write_csv(tmp_path / "replies.csv")
    with pytest.raises(InputError, match=says):
        with_replies(people_of(folder / "people.csv"), tmp_path / "replies.csv", mapping)


def test_people_alone_or_nobody_end_with_a_sentence(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    alone = vantage("compare-model", folder / "people.csv")
    assert (alone.code, "people and a model are needed" in alone.err) == (2, True)
    nowhere = vantage("compare-model", tmp_path / "none.csv")
    assert (nowhere.code, "there is no such file or corpus folder" in nowhere.err) == (2, True)
    assert isinstance(people_of(folder / "people.csv"), Corpus)
