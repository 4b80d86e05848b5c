"""What is planted in a model behind an endpoint is what the report finds, and a model of noise yields no claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.truth import check_all, claims
from tests.studies import planted_models as planted
from tests.studies.appraisals import release as covidet
from tests.studies.context.pipeline.planted import planted_corpus
from tests.studies.perseval import made
from tests.studies.stereomap.planted import scores
from tests.studies.wcsent import release as wcsent
from vantage import Corpus
from vantage.perspective import split
from vantage.report.parts import Result
from vantage.studies import run
from vantage.studies.appraisals.study import read_release
from vantage.studies.stereomap.groups import reference_groups


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")


def frame(result: Result, name: str) -> pl.DataFrame:
    named = {one.name: one.frame for one in result.tables}
    assert name in named, sorted(named)
    return named[name]


def studied(study: str, answers: dict[str, planted.Answer], /, **options: Any) -> Result:
    """The report of a study on planted models, every sentence of which is checked against its numbers."""
    with planted.served(answers) as asked:
        result = run(study, **{**asked, **options}).result
    check_all(result)
    return result


def covered(table: pl.DataFrame, truth: str | float, low: str = "low", high: str = "high") -> float:
    """The share of rows whose interval holds the truth."""
    true = pl.col(truth) if isinstance(truth, str) else pl.lit(truth)
    held = table.select(((pl.col(low) <= true + 1e-9) & (true - 1e-9 <= pl.col(high))).mean())
    return float(held.item())


FEW = {"groups": "reference", "form": "short", "first": "nothing", "runs": 6, "resamples": 50}


@pytest.mark.slow
def test_the_map_the_clusters_the_refusals_and_the_wording_are_found() -> None:
    model = planted.stereotypes(refuses=0.1, uninstructed=0.6)
    result = studied("stereomap", {"m": model}, **FEW, variants="no-instructions", variant_runs=4)
    true = pl.DataFrame([{"item": g.id, **scores(g.reference)} for g in reference_groups()])
    places = frame(result, "groups").join(true, on="item", suffix="_true")
    ends = [covered(places, f"{axis}_true", f"{axis}_low", f"{axis}_high") for axis in ("competence", "warmth")]
    assert min(ends) > 0.83
    assert np.abs((places["warmth"] - places["warmth_true"]).to_numpy()).max() < 0.5
    assert frame(result, "people")["estimate"][0] == pytest.approx(1.0)
    assert frame(result, "number-of-clusters").filter("chosen")["k"].to_list() == [5]
    refused = frame(result, "refusals").row(0, named=True)
    assert refused["low"] < 0.1 < refused["high"]
    told = frame(result, "variants").filter(question="warmth").row(0, named=True)
    assert told["difference_low"] < 0.6 < told["difference_high"]
    still = frame(result, "variants").filter(question="competence").row(0, named=True)
    assert still["difference_low"] < 0.0 < still["difference_high"]


@pytest.mark.slow
def test_groups_that_a_model_does_not_tell_apart_have_no_clusters_and_no_claim() -> None:
    result = studied("stereomap", {"m": planted.stereotypes(noise=True)}, **FEW)
    assert claims(result) == []
    assert frame(result, "number-of-clusters").filter("chosen")["k"].to_list() == [1]


@pytest.mark.slow
def test_the_bias_of_a_model_of_warmth_is_found(tmp_path: Path) -> None:
    data = wcsent.write(tmp_path / "release")
    models = {"fair": planted.sentiment(), "mild": planted.sentiment(bias=0.5), "noise": planted.sentiment(noise=True)}
    result = studied("wcsent", models, data=data, predict=False, styles="zero-shot")
    table = frame(result, "predictions").with_columns(pl.col("rater").str.extract(r":(\w+)\+"))
    by = {name: table.filter(rater=name) for name in models}
    assert min(by["fair"]["spearman"]) > 0.9
    assert min(by["mild"]["spearman"]) > 0.85
    assert covered(by["noise"], 0.0, "spearman_low", "spearman_high") == 1.0
    fair, mild, noise = (dict(by[name].select("question", "mae").iter_rows()) for name in models)
    assert all(fair[question] < mild[question] < noise[question] for question in fair), (fair, mild, noise)
    assert not [text for text in claims(result) if "noise" in text and "better than chance" in text]


APPRAISED = {"steps": "one", "runs": 1, "resamples": 200, "topics": 0, "draws": 1, "folds": 3}
LEVELS = np.random.default_rng(3).integers(2, 8, (covidet.POSTS, 24))
"""Drawn as `release.write` draws them first."""


def _distance(corpus: Corpus, said: Any, silent: int, refused: int) -> float:
    """How far what a model says is from the mean of the annotators, over what both answered."""
    place = {question.id: n for n, question in enumerate(corpus.questions)}
    people = corpus.filter(kind="person").judgments.drop_nulls("value")
    means = people.group_by("item", "question").agg(pl.col("value").mean()).iter_rows()
    cells = [(int(item[1:]), place[question], mean) for item, question, mean in means]
    return float(np.mean([abs(said[p, q] - mean) for p, q, mean in cells if p % refused and q != silent]))


@pytest.mark.slow
def test_distance_silence_and_refusals_of_a_model_of_appraisals_are_found(tmp_path: Path) -> None:
    data = covidet.write(tmp_path / "release", evaluated=False)
    model = planted.appraisals(LEVELS, bias=1, silent=5, refused=8)
    result = studied("appraisals", {"m": model}, data=data, **APPRAISED)
    mine = frame(result, "models").filter(pl.col("rater").str.starts_with("openai"), blanks="left out")
    row = mine.filter(read_by="parser").row(0, named=True)
    true = _distance(read_release(data), LEVELS + 1, silent=5, refused=8)
    assert row["delta"] == pytest.approx(true)
    assert true - 0.2 < row["delta_low"] < true < row["delta_high"] < true + 0.2
    replies = frame(result, "models-replies").filter(pl.col("rater").str.starts_with("openai"))
    shares = dict(replies.select("status", "share").iter_rows())
    assert shares == {
        "refused": pytest.approx(1 / 8),
        "not mentioned": pytest.approx(7 / 8 / 24),
        "answered": pytest.approx(7 / 8 * 23 / 24),
    }


@pytest.mark.slow
def test_a_model_of_appraisals_that_guesses_is_not_called_near_to_people(tmp_path: Path) -> None:
    data = covidet.write(tmp_path / "release", evaluated=False)
    result = studied("appraisals", {"m": planted.appraisals(LEVELS, noise=True)}, data=data, **APPRAISED)
    mine = frame(result, "models").filter(pl.col("rater").str.starts_with("openai"), blanks="left out")
    assert covered(mine.filter(read_by="parser"), 0.0, "per_question_low", "per_question_high") == 1.0
    told = [text for text in claims(result) if "openai" in text]
    # Of answers at random it is true that a mean is closer to people, and a recorded model too.
    assert all("is closer to people's" in text or "is furthest from people's" in text for text in told), told


MANY: dict[str, Any] = {"people": 60, "texts": 240, "each": 60}
ASKED = {"methods": "majority", "traits": "group,gender", "prompts": "base,perspective", "resamples": 200}


def _gain(corpus: Corpus) -> float:
    """How much the F1 of the average person gains where "them" offends those whom it should; of all who find any."""
    told = corpus.judgments.join(corpus.items, on="item").join(corpus.raters, on="rater")
    loud = pl.col("text").str.contains("crowd")
    knows = loud | (pl.col("text").str.contains("them") & (pl.col("group") == "target"))
    f1 = [2 * (said * pl.col("value")).sum() / (said.sum() + pl.col("value").sum()) for said in (knows, loud)]
    told = told.filter(pl.col("value").sum().over("rater") > 0)
    return float(told.group_by("rater").agg((f1[0] - f1[1]).alias("gain"))["gain"].mean())  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_gain_of_each_trait_is_found(tmp_path: Path) -> None:
    data = made.write(tmp_path, **MANY)
    result = studied("perseval", {"m": planted.offended()}, data=data, **ASKED)
    bought = frame(result, "bought").filter(what="trait")
    gain = {row["rater"].split()[-2]: row for row in bought.iter_rows(named=True)}
    people = made.corpus(**MANY)
    tested = split(people, users="unnamed", adaptation="test", seed=42).test["item"].unique().to_list()
    assert 0 < gain["group"]["low"] < _gain(people.filter(item=tested)) < gain["group"]["high"]
    assert gain["group"]["p"] < 0.05 < gain["gender"]["p"]
    assert gain["gender"]["difference"] == 0
    change = dict(frame(result, "prompt-change").select("trait", "between").iter_rows())
    # A model that needs no training is asked about all texts.
    texts = people.items["text"]
    assert change == {"group": pytest.approx(texts.str.contains("them").mean()), "gender": 0.0}


@pytest.mark.slow
def test_a_model_that_answers_by_lot_buys_nothing(tmp_path: Path) -> None:
    data = made.write(tmp_path, noise=True)
    result = studied("perseval", {"m": planted.offended(noise=True)}, data=data, **ASKED)
    bought = frame(result, "bought").filter(what="trait")
    assert covered(bought, 0.0) == 1.0
    assert [text for text in claims(result) if "openai" in text] == []


READ = {
    "tasks": "sarcasm", "first_person": False, "items": 24, "persona_count": 4, "samples": 3, "answers": "sampling",
    "methods": "length,direct,persona", "styles": "zero-shot", "controls": "label", "runs": 1, "resamples": 200,
    "writer": "openai:writer",
}  # fmt: skip


@pytest.mark.slow
def test_ambiguity_and_the_order_of_models_in_context_are_found(tmp_path: Path) -> None:
    planted_corpus(["clear", "clear", "ambiguous", "ambiguous"] * 6).write(tmp_path / "sarcasm")
    models = {
        "reader": planted.statements(alone=0.55, inside=1.0),
        "other": planted.statements(alone=1.0, inside=0.55),
        "writer": planted.writer,
    }
    asked = {"models": ["openai:reader", "openai:other"], "data": tmp_path}
    result = studied("context", models, **asked, **READ)
    methods = frame(result, "methods-sarcasm")
    personas = methods.filter(pl.col("method").str.contains("all personas"))
    assert min(personas["auc_low"]) > 0.5
    assert methods.filter(method="short texts first")["auc_low"].item() < 0.5
    f1 = frame(result, "models-f1").filter(part="all")
    by = {row["model"]: row for row in f1.iter_rows(named=True)}
    assert by["openai:reader"]["difference_low"] > 0
    assert by["openai:other"]["difference_high"] < 0
    order = frame(result, "models-rank-correlation")
    assert order.filter(between="static and context")["estimate"].unique().to_list() == [-1.0]


@pytest.mark.slow
def test_readers_that_guess_detect_nothing(tmp_path: Path) -> None:
    planted_corpus(["clear", "clear", "ambiguous", "ambiguous"] * 6).write(tmp_path / "sarcasm")
    models = {"reader": planted.statements(noise=True), "writer": planted.writer}
    result = studied("context", models, models=["openai:reader"], data=tmp_path, **READ)
    # That people agree is planted.
    assert [text for text in claims(result) if "People agree better than chance" not in text] == []
