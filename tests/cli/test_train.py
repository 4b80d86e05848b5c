from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.cli.conftest import Vantage
from tests.raters.models.tiny import tiny_model
from vantage import Corpus


def test_a_rater_is_learned_kept_and_judges(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "ridge", "--question", "trust,competence", "--save", tmp_path / "kept")
    done = vantage(*words, "--to", tmp_path / "out")
    assert done.code == 0, done.err
    assert "tfidf-ridge" in done.out
    rated = Corpus.read(tmp_path / "out")
    assert rated.raters.filter(kind="trained")["rater"].to_list() == ["tfidf-ridge"]
    mine = rated.judgments.filter(rater="tfidf-ridge")
    assert mine.height == 2 * rated.items.height
    again = vantage(
        "train", demo, "--load", tmp_path / "kept", "--judge", "item=s01", "--to", tmp_path / "one", "--json"
    )
    assert again.json["added"] == 2
    one = Corpus.read(tmp_path / "one").judgments.filter(rater="tfidf-ridge")
    keys = ["item", "question", "value"]
    assert one.select(keys).rows() == mine.filter(item="s01").select(keys).rows()


def test_settings_reach_the_training_and_unknown_ones_are_named(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "logistic", "--question", "trust", "--coarse", "--to", tmp_path / "out")
    done = vantage(*words, "--setting", "words=1-3", "--setting", "least=1", "--json")
    assert done.json["about"]["settings"]["words"] == [1, 3]
    assert Corpus.read(tmp_path / "out").judgments.filter(pl.col("question") == "trust-coarse").height > 0
    wrong = vantage(*words, "--setting", "wrods=1-3")
    assert (wrong.code, "did you mean 'words'" in wrong.err) == (2, True)
    assert vantage("train", demo, "--kind", "rdge").code == 2


def test_a_text_on_two_sides_of_the_split_ends_it(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "mean", "--question", "trust", "--to", tmp_path / "out")
    done = vantage(*words, "--on", "item=s01,s02", "--judge", "item=s02,s03")
    assert done.code == 2
    assert "the training part and what is judged share 1 text" in done.err


def test_a_language_model_is_probed_from_the_command_line(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "probe", "--model", f"hf:{tiny_model(tmp_path / 'tiny')}", "--question", "trust")
    done = vantage(*words, "--to", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["about"]["model"] == "probe:tiny"
    assert Corpus.read(tmp_path / "out").judgments.filter(rater="probe:tiny").height == 30
