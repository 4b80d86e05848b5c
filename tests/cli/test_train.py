from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.raters.models.tiny import tiny_model
from vantage import Corpus


def test_a_rater_is_learned_kept_and_judges(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "ridge", "--question", "trust,competence", "--save", tmp_path / "kept")
    done = vantage(*words, "--to", tmp_path / "out")
    assert done.code == 0, done.err
    assert "tfidf-ridge" in done.out
    assert "30 of the 30 judged items have texts that the rater learned from" in done.out
    rated = Corpus.read(tmp_path / "out")
    assert rated.raters.filter(kind="trained")["rater"].to_list() == ["tfidf-ridge"]
    mine = rated.judgments.filter(rater="tfidf-ridge")
    assert mine.height == 2 * rated.items.height
    kept, one_item = ("--rater", tmp_path / "kept"), ("--on", "item=s01")
    again = vantage("judge", demo, *kept, *one_item, "--to", tmp_path / "one", "--json")
    assert again.json["added"] == 2
    one = Corpus.read(tmp_path / "one").judgments.filter(rater="tfidf-ridge")
    keys = ["item", "question", "value"]
    assert one.select(keys).rows() == mine.filter(item="s01").select(keys).rows()


def test_texts_of_ones_own_are_judged_into_a_table(
    vantage: Vantage, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("train", demo, "--kind", "ridge", "--question", "trust,competence", "--save", "kept", "--to", "out")
    halves = (f"item={','.join(f's{n:02}' for n in numbers)}" for numbers in (range(1, 21), range(21, 31)))
    made = vantage(*words, "--on", next(halves), "--judge", next(halves))
    assert made.code == 0, made.err
    assert "10 unseen items, trust: Spearman" in made.out
    texts = ["=Ann kept her word.", "Ben lost the keys again.", *(f"Sentence {n}." for n in range(8))]
    pl.DataFrame({"text": texts, "target": ["Ann"] * 10, "mine": range(10)}).write_csv("own.csv")
    done = vantage("judge", "own.csv", "--rater", "kept")
    assert done.code == 0, done.err
    assert "10 unseen items, trust: Spearman" in done.out
    assert "… and 5 more" in done.out
    table = pl.read_csv("own-judged.csv")
    assert table["mine"].to_list() == list(range(10))
    assert table["unlike_training"].dtype == pl.Boolean
    assert table["text"][0] == "'=Ann kept her word."
    for name in ("trust", "competence"):
        assert (
            table.filter(pl.col(f"{name}_low").le(pl.col(name)) & pl.col(name).le(pl.col(f"{name}_high"))).height == 10
        )
        assert table[f"{name}_mean"].is_between(-3, 3).all()
    pl.DataFrame({"text": texts}).write_csv("bare.csv")
    assert "the items have no column 'target'" in vantage("judge", "bare.csv", "--rater", "kept").err
    pl.DataFrame({"text": texts, "target": "Ann", "trust_low": 1}).write_csv("taken.csv")
    assert "has a column 'trust_low' already" in vantage("judge", "taken.csv", "--rater", "kept").err
    assert "make one with: vantage train" in vantage("judge", "own.csv", "--rater", "nowhere").err


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
    assert "the training part and the judged part share 1 text" in done.err


@pytest.mark.slow
def test_a_language_model_is_probed_from_the_command_line(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    words = ("train", demo, "--kind", "probe", "--model", f"hf:{tiny_model(tmp_path / 'tiny')}", "--question", "trust")
    done = vantage(*words, "--to", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["about"]["model"] == "probe:tiny"
    assert Corpus.read(tmp_path / "out").judgments.filter(rater="probe:tiny").height == 30


@pytest.mark.parametrize(
    ("kind", "option"), [("ridge", ("--checkpoints", "kept")), ("mean", ("--validation", "target=the baker"))]
)
def test_options_without_effect_are_refused(vantage: Vantage, demo: Path, kind: str, option: tuple[str, str]) -> None:
    done = vantage("train", demo, "--kind", kind, *option)
    assert done.code == 2
    assert f"{option[0]} has no effect with --kind {kind}; leave it out" in done.err
