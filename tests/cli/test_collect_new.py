"""From a table of texts to a study that was checked and rehearsed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tests.cli.run import run
from vantage import Corpus
from vantage.cli.corpora import texts_or_corpus
from vantage.collect.study import AnnotationStudy

TABLE = 'id,topic,text\np1,tea,"It rains, how lovely."\np2,law,The bridge is closed.\np3,tea,What a surprise.\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vantage.cli.collect.REHEARSED", 6)
    Path("posts.csv").write_text(TABLE, "utf-8")


def test_a_table_of_texts_becomes_a_study(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--ask", "Is {this} ironic?", "--answers", "no, unsure, yes", "--raters", "2")
    done = run(capsys, monkeypatch, "collect", "new", "posts.csv", *asked)
    assert done.code == 0, done.err
    assert "posts/study.yaml: 3 texts, 2 people each. Rehearsed:" in done.out
    assert "6 of 6 ratings were given" in done.out
    corpus = Corpus.read("posts")
    assert corpus.items.columns == ["item", "text", "topic"]
    assert corpus.items["item"].to_list() == ["p1", "p2", "p3"]
    study = AnnotationStudy.load("posts/study.yaml")
    (question,) = study.questions
    assert (question.wording(), [option.label for option in question.scale.options]) == (
        "Is {this} ironic?",
        ["no", "unsure", "yes"],
    )
    assert (study.plan.raters, study.plan.batch.size, len(study.blocks[0].checks)) == (2, 3, 1)
    done = run(capsys, monkeypatch, "collect", "new", "posts.csv", *asked)
    assert "the folder exists already; choose another one with --to" in done.err


def test_columns_in_another_language_are_known_by_what_they_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = SimpleNamespace(summary=pl.DataFrame())
    monkeypatch.setattr("vantage.recruit.rehearsal.rehearse.rehearse", lambda study, people: summary)
    rows = [f"B-{n};Das ist der Beitrag Nummer {n}.;Forum;0{n}.03.2024" for n in range(1, 7)]
    Path("texte.csv").write_text("\n".join(["lfd_nr;Beitrag;Quelle;Datum", *rows]), "utf-8-sig")
    done = run(capsys, monkeypatch, "collect", "new", "texte.csv", "--ask", "Ironisch?", "--answers", "nein, ja")
    assert done.code == 0, done.err
    assert "The text was read from the column 'Beitrag'. The item was read from the column 'lfd_nr'." in done.out
    corpus = Corpus.read("texte")
    assert corpus.items.columns == ["item", "text", "Quelle", "Datum"]
    assert corpus.items["item"].to_list() == [f"B-{n}" for n in range(1, 7)]


def test_with_a_bundled_instrument(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    summary = SimpleNamespace(summary=pl.DataFrame())
    monkeypatch.setattr("vantage.recruit.rehearsal.rehearse.rehearse", lambda study, people: summary)
    done = run(capsys, monkeypatch, "collect", "new", "posts.csv", "--instrument", "sentiment", "--to", "other")
    assert done.code == 0, done.err
    assert AnnotationStudy.load("other/study.yaml").instrument.id == "sentiment"
    assert not Path("other/instrument.yaml").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "What is asked about each text?; pass --instrument NAME, or --ask"),
        (("--ask", "Warm?", "--answers", "yes"), "'yes' is not a list of answers; write for example '1-7'"),
        (("--ask", "Warm?", "--answers", "1-7", "--map", "text=body"), "body"),
        (("--instrument", "irony"), "'post'|post"),
    ],
)
def test_what_is_missing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], said: str
) -> None:
    done = run(capsys, monkeypatch, "collect", "new", "posts.csv", *given)
    assert done.code == 2
    assert any(part in done.err for part in said.split("|"))
    assert not Path("posts").exists()


def test_a_served_table_keeps_its_ids_and_columns() -> None:
    folder, corpus = texts_or_corpus(Path("posts.csv"), None, "sentiment", {})
    assert corpus.items.columns == ["item", "text", "topic"]
    assert Corpus.read(folder).items["item"].to_list() == ["p1", "p2", "p3"]
    assert texts_or_corpus(Path("posts.csv"), None, "sentiment", {})[0] == folder, "given again, it is the same"
