from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.truth import check_all, check_intervals, claims
from tests.studies.wcsent.release import TARGETS, write
from vantage import Corpus, InputError, Instrument
from vantage.corpora.readers import load
from vantage.raters.models.base import ModelError
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.execution import Context
from vantage.studies.wcsent import latent, people, predictions
from vantage.studies.wcsent.predictions import QUESTIONS
from vantage.studies.wcsent.study import STUDY

QUICK: dict[str, Any] = {"encoder": "none", "probe": "none"}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def report(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("out") / "study"
    return run("wcsent", data=release, out=out, **QUICK), out


def table(report: Any, name: str) -> pl.DataFrame:
    found: pl.DataFrame = next(part.frame for part in report.result.tables if part.name == name)
    return found


@pytest.mark.slow
def test_the_report_holds_what_the_questions_ask_for_and_every_sentence_is_true(report: Any) -> None:
    told, out = report
    check_all(told.result)
    check_intervals(told.result)
    names = {part.name for part in [*told.result.tables, *told.result.figures]}
    assert names >= {
        *(
            "alpha",
            "agreement",
            "alpha-by-target",
            "unanimity",
            "predictions",
            "within",
            "coarse",
            "neutral",
        ),
        *("replaceable", "reliability", "annotators"),
        *(f"wright-map-{number}" for number in (1, 2, 3)),
        *(
            "variance",
            *("properties", "scale-points"),
            "scores-rounded-median",
            "labels",
            "opposed",
            *("divided", "agreed", "unlike-people", "soft-unanimity"),
            "relations",
            "together-trust-and-sociability",
            "targets",
            "annotations",
            "split",
        ),
    }
    assert "Krippendorff" in (out / "report.html").read_text("utf-8")
    corpus = Corpus.read(out / "corpus")
    assert corpus.raters.filter(kind="trained").height == 5


SAYING = Claiming("vantage.studies.wcsent", latent, people, predictions)


def on_noise(corpus: Corpus, seed: int) -> Result:
    """The release with ratings at random, two traits that mean nothing, and a trained rater that knows nothing."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-3, 4, len(corpus.judgments)).astype(float)
    judgments = corpus.judgments.with_columns(pl.Series("value", drawn))
    means = judgments.group_by("item", "question").agg((pl.col("value").mean() + 0.5).floor())
    wide = means.with_columns(pl.format("final_{}", "question").alias("question")).pivot("question", values="value")
    items = corpus.items.drop([name for name in wide.columns if name != "item"]).join(
        wide, on="item", maintain_order="left"
    )
    sides = pl.Series("side", rng.permutation(["left", "right"] * len(corpus.raters))[: len(corpus.raters)])
    made = Corpus(items, corpus.raters.with_columns(sides), judgments, corpus.instruments)
    for name in ("guess", "hunch"):
        guesses = items.filter(split="test").select("item").join(pl.DataFrame({"question": QUESTIONS}), how="cross")
        values = pl.Series("value", rng.integers(-3, 4, len(guesses)).astype(float))
        row = pl.DataFrame({"rater": [name], "kind": ["trained"]})
        made = made.add(guesses.with_columns(values, pl.lit(name).alias("rater")), row, corpus.instruments)
    return SAYING.result(predictions.WarmthAnalysis(made, find("wcsent").options(), seed))


@pytest.mark.slow
def test_noise_hardly_ever_claims_anything(release: Path) -> None:
    corpus = load("wcsent", release)
    assert len(found := claiming(partial(on_noise, corpus), range(SEEDS))) <= few(SEEDS), found


def test_sentences_turn_with_the_data(release: Path, tmp_path: Path) -> None:
    """Ratings turned round change directions and no agreement; two questions that oppose each other are said to."""
    corpus = load("wcsent", release)
    turned = corpus.judgments.with_columns(-pl.col("value"))
    opposed = corpus.judgments.with_columns(pl.when(question="trust").then(-pl.col("value")).otherwise("value"))
    said = []
    for name, judgments in (("plain", corpus.judgments), ("turned", turned), ("opposed", opposed)):
        made = Corpus(corpus.items, corpus.raters, judgments, corpus.instruments)
        result = SAYING.result(predictions.WarmthAnalysis(made, find("wcsent").options(), 0))
        assert any("Raters agree better than chance about" in finding.text for finding in result.findings), name
        told = " ".join(finding.text for section in result.sections for finding in section.findings)
        said.append(re.sub(r"[−\d.]+", "#", told))
    assert said[0] == said[1]
    assert said[0] != said[2]


@pytest.mark.parametrize(
    ("reduce", "gone"), [("rater", "agree"), ("item", "agree"), ("people", "orders the sentences")]
)
def test_what_is_left_out_is_not_spoken_of(release: Path, reduce: str, gone: str) -> None:
    corpus = load("wcsent", release)
    parts: dict[str, dict[str, Any]] = {
        "rater": {"rater": corpus.raters["rater"][:1].to_list()},
        "item": {"item": corpus.items["item"][:1].to_list()},
        "people": {},
    }
    part = corpus.filter(**parts[reduce]) if parts[reduce] else corpus
    result = SAYING.result(predictions.WarmthAnalysis(part, find("wcsent").options(), 0))
    assert not any(gone in text for text in claims(result))


@pytest.mark.slow
def test_raters_learn_from_the_training_part_and_judge_the_test_part_only(report: Any) -> None:
    told, out = report
    corpus = Corpus.read(out / "corpus")
    judged = corpus.filter(kind="trained").judgments["item"].unique()
    assert set(judged) == set(corpus.items.filter(split="test")["item"])
    scores = table(told, "predictions")
    best = scores.filter(rater="tfidf-ridge", question="trust").row(0, named=True)
    dummy = scores.filter(rater="always −1", question="trust").row(0, named=True)
    assert best["spearman"] > 0.8
    assert best["within"] > dummy["within"]
    assert dummy["spearman"] is None


@pytest.mark.slow
def test_the_dummy_of_the_paper_always_answers_minus_one(report: Any) -> None:
    told, out = report
    test = Corpus.read(out / "corpus").items.filter(split="test")
    share = (test["final_trust"] == -1).sum() / len(test)
    found = table(told, "predictions").filter(rater="always −1", question="trust")["accuracy"][0]
    assert found == pytest.approx(share)


@pytest.mark.slow
def test_what_the_release_cannot_give_is_said_to_be_so(report: Any) -> None:
    published = table(report[0], "published")
    assert published.filter(what="stance with trust")["verdict"].to_list() == ["not recomputable"]
    assert published.filter(what="annotators")["recomputed_value"].to_list() == [8.0]
    assert set(table(report[0], "targets")["target"]) == set(TARGETS)


@pytest.mark.slow
def test_neutral_answers_and_wrong_sides_are_counted(report: Any) -> None:
    told, _ = report
    neutral = table(told, "neutral").filter(rater="always −1")
    assert neutral["says_neutral"].to_list() == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_files_of_traits_and_stance_are_joined(release: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    gender = ["f", "m", "f", "m", "f", "m", "f", "DATA_EXPIRED"]
    pl.DataFrame({"rater": [f"Annotator_{n}" for n in range(8)], "gender": gender}).write_csv(people)
    long = pl.read_csv(release / "W&C-Sent - Long with Individual Scores and Annotator ID.csv")
    mean = long.filter(Dimension="Trust").group_by("Text", "Target").agg(pl.col("Score").mean())
    stance = tmp_path / "stance.csv"
    words = pl.when(pl.col("Score") < 0).then(pl.lit("AGAINST")).otherwise(pl.lit("FAVOR"))
    mean.select(pl.col("Text").alias("text"), pl.col("Target").alias("target"), words.alias("stance")).write_csv(stance)
    told = run("wcsent", data=release, predict=False, demographics=str(people), stance=str(stance))
    compared = table(told, "traits")
    assert {"f", "m"} <= set(compared["group"])
    assert (compared["trait"] == "gender").all()
    assert (compared["raters"] <= 8).all(), "the unit is the annotator"
    assert table(told, "published").filter(what="stance with trust")["recomputed_value"][0] > 0.5
    mean.write_csv(stance)
    with pytest.raises(InputError, match="no column 'text'"):
        run("wcsent", data=release, predict=False, stance=str(stance))
    with pytest.raises(InputError, match="the folder has no"):
        run("wcsent", data=release, predict=False, stance=str(tmp_path))
    with pytest.raises(InputError, match="there is no such file or folder"):
        run("wcsent", data=release, predict=False, demographics=str(tmp_path / "nobody.csv"))


@pytest.mark.slow
def test_without_torch_the_study_goes_on_and_says_what_is_missing(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str, extra: str) -> Any:
        raise ModelError(f"The package '{module}' is not installed; pip install 'vantage-raters[{extra}]'.")

    monkeypatch.setattr("vantage.raters.trained.encoder.require", missing)
    told = run("wcsent", data=release, probe="none")
    assert any("No encoder was trained: The package 'torch' is not installed" in note for note in told.result.warnings)
    with pytest.raises(ModelError, match="not installed"):
        run("wcsent", data=release, encoder="minilm", probe="none")


@pytest.mark.slow
def test_without_a_language_model_the_study_goes_on_and_says_what_is_missing(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: Any) -> Any:
        raise ModelError("The embedded model is not installed.")

    monkeypatch.setattr("vantage.raters.trained.probe.load_model", missing)
    told = run("wcsent", data=release, encoder="none")
    assert "No language model was probed: The embedded model is not installed." in told.result.warnings
    with pytest.raises(ModelError, match="not installed"):
        run("wcsent", data=release, encoder="none", probe="embedded")


def test_an_unknown_way_to_train_is_named(release: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'huber-mean'"):
        run("wcsent", data=release, variants="huber-men")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    with Endpoint(lambda body: "high" if "low, neutral or high" in str(body["messages"]) else "1") as running:
        yield running


@pytest.mark.slow
def test_models_are_asked_about_the_test_part_with_examples_of_the_training_part(
    release: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    told = run(
        "wcsent",
        data=release,
        out=tmp_path / "out",
        models=["openai:tester"],
        settings={"base_url": endpoint.url},
        predict=False,
        limit=3,
        styles="zero-shot,few-shot:2,coarse",
    )
    assert len(endpoint.requests) == 3 * 3 * 3
    corpus = Corpus.read(tmp_path / "out" / "corpus")
    test = corpus.items.filter(split="test")
    for request in endpoint.requests:
        *examples, asked = [m["content"] for m in request["messages"] if m["role"] == "user"]
        assert any(text in asked for text in test["text"])
        assert not any(text in example for example in examples for text in test["text"])
    assert set(table(told, "predictions")["rater"]) == {"openai:tester+zero-shot", "openai:tester+few-shot:2"}
    assert "openai:tester+coarse" in set(table(told, "coarse")["rater"])
    assert set(table(told, "predictions")["answered"]) == {3}
    assert set(table(told, "coarse")["answered"]) == {3}
    assert {"precision_macro", "recall_macro"} <= set(table(told, "coarse").columns)
    beside = table(told, "few-zero")
    assert beside.select("model", "style", "pairs", "difference", "astray_few").unique().rows() == [
        ("openai:tester", "zero-shot", 3, 0.0, 0)
    ]


def test_models_are_asked_as_in_the_paper(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    options = find("wcsent").options(predict=False, limit=1, prompt="paper")
    with Endpoint(lambda body: '{"reason": "So.", "answer": "%s"}' % _second(body)) as endpoint:  # noqa: UP031
        settings = {"base_url": endpoint.url}
        corpus = STUDY.collect(
            Context(options, Record("wcsent", ""), data=release, models=("openai:m",), settings=settings)
        )
        asked = [[m["content"] for m in request["messages"]] for request in endpoint.requests]
    assert sorted(len(turns) for turns in asked) == [2] * 6 + [2 + 2 * 5] * 3 + [2 + 2 * 8] * 3
    assert all('{"reason": "…", "answer": …}' in turns[-1] for turns in asked)
    said = corpus.judgments.join(corpus.raters.filter(kind="model"), on="rater", how="semi")
    assert set(said["value"]) == {-2.0, 0.0}
    assert set(said["presentation"]) == {"labels=words"}


def _second(body: Any) -> str:
    """The second of the answers that are offered: one step above the lowest."""
    words = body["messages"][-1]["content"].rpartition("The answer is ")[2]
    return str(re.split(r", | or ", words)[1]).strip('".')


@pytest.mark.slow
def test_an_encoder_is_trained_and_stands_beside_the_published_one(release: Path, tmp_path: Path) -> None:
    from tests.raters.models.tiny import tiny_model
    from tests.raters.trained.tiny import tiny_encoder

    told = run(
        "wcsent",
        data=release,
        out=tmp_path / "out",
        encoder=str(tiny_encoder(tmp_path / "tiny")),
        probe=f"hf:{tiny_model(tmp_path / 'reader')}",
        members=1,
        seeds=2,
        variants="huber-mean,distribution",
    )
    beside = table(told, "encoders")
    assert set(beside["training"]) == {"huber-mean", "distribution", "blend", "BERTweet, as printed"}
    assert "probe" in set(table(told, "predictions")["rater"])
    assert beside.filter(training="huber-mean")["seeds"].to_list() == [2, 2, 2]
    assert (tmp_path / "out" / "checkpoints").is_dir()


@pytest.mark.slow
@pytest.mark.data
def test_every_figure_that_the_release_allows_is_matched(data_dir: Path) -> None:
    told = run("wcsent", data=data_dir / "wcsent", predict=False, stance=str(data_dir / "semeval2016-stance"))
    published = table(told, "published")
    differs = set(published.filter(verdict="differs")["what"])
    ties = {f"tied items, {q}" for q in ("trust", "sociability", "competence")}
    # One sentence about women and one about religious people are spelled too differently; 20 is a slip of the paper.
    spelled = {f"sentences of SemEval about {target}" for target in ("Women", "Religious people")}
    spelled |= {"Legalization of Abortion sentences about Women", "Atheism sentences about Religious people"}
    slip = "Feminist Movement sentences about Religious people"
    assert differs == {*ties, "pairs with opposed questions", *spelled, slip}
    assert published.filter(verdict="matched").height == 75
    assert table(told, "stance").filter(kind="stance")["items"].unique().to_list() == [854]
    assert table(told, "sources")["semeval"].sum() == 1480


def test_answers_that_examples_lead_astray_are_counted_and_shown() -> None:
    items = pl.DataFrame({"item": ["a", "b"], "text": ["A!", "B."], "target": ["x", "x"], "split": ["test", "test"]})
    scores = items.with_columns(pl.Series(f"final_{question}", [3, -1]) for question in QUESTIONS)
    raters = pl.DataFrame(
        {"rater": ["z", "f"], "kind": ["model"] * 2, "model": ["m"] * 2, "style": ["reasoning", "few-shot:4+reasoning"]}
    )
    rows = [("a", "z", 3.0), ("b", "z", -1.0), ("a", "f", 0.0), ("b", "f", -2.0)]
    judged = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row").with_columns(
        pl.lit("trust").alias("question"), pl.lit("so it seems").alias("rationale")
    )
    analysis = predictions.WarmthAnalysis(Corpus(scores, raters, judged, Instrument.load("warmth-competence")), None, 0)
    found = predictions.few_against_zero(analysis)
    assert found is not None
    row = found.row(0, named=True)
    assert (row["zero"], row["few"], row["difference"]) == (0.0, 2.0, 2.0)
    assert (row["astray_few"], row["neutral_few"], row["astray_zero"]) == (1, 1, 0)
    shown = predictions.astray(analysis)
    assert shown is not None
    assert shown.select("text", "gold", "zero", "few", "why_few").rows() == [("A!", 3, 3.0, 0.0, "so it seems")]


def test_raters_that_answered_other_pairs_are_compared_on_the_same_ones() -> None:
    names = [f"i{n}" for n in range(12)]
    items = pl.DataFrame({"item": names, "text": names, "target": ["x"] * 12, "split": ["test"] * 12})
    scores = items.with_columns(
        pl.Series(f"final_{question}", [n % 6 - 3 for n in range(12)]) for question in QUESTIONS
    )
    # The second rater meets the first six scores and refuses the others, which the first rater turns round.
    rows = [(f"i{n}", "all", float(n % 6 - 3) * (1 if n < 6 else -1)) for n in range(12)]
    rows += [(f"i{n}", "some", float(n - 3)) for n in range(6)]
    judged = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row").with_columns(question=pl.lit("trust"))
    people = judged.filter(rater="all").with_columns(rater=pl.lit("p"))
    raters = pl.DataFrame({"rater": ["all", "some", "p"], "kind": ["model", "model", "person"]})
    corpus = Corpus(scores, raters, pl.concat([judged, people]), Instrument.load("warmth-competence"))
    found = predictions.scores(predictions.WarmthAnalysis(corpus, None, 0))
    by_rater = {row["rater"]: row for row in found.iter_rows(named=True)}
    assert by_rater["all"]["spearman"] < 0.5
    assert [by_rater[name]["same_pairs"] for name in ("all", "some")] == [pytest.approx(1.0)] * 2
