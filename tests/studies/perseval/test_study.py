from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from tests.studies.perseval.made import write
from vantage import Corpus, InputError
from vantage.raters.trained.pairs import PAIR_METHODS, fitting
from vantage.studies import run
from vantage.studies.perseval import learning

LIGHT: dict[str, Any] = {"encoder": "none", "resamples": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("out") / "study"
    return run("perseval", data=folder, out=out, **LIGHT), out


def table(report: Any, name: str) -> pl.DataFrame:
    found: pl.DataFrame = next(part.frame for part in report.result.tables if part.name == name)
    return found


def test_the_report_begins_with_for_whom_it_works(report: Any) -> None:
    told, out = report
    assert [section.title for section in told.result.sections] == [
        "For whom does it work?",
        "The task",
        "Scores at four levels",
        "What the rule for absent classes decides",
        "Fairness",
        "Minority against majority",
        "Soft scores against the same group",
        "Scores of the shared task",
        "Which traits matter in the vote?",
        "Does the label change with the trait?",
        "Traits in people and in models",
        "Juries",
        "The paper beside this study",
    ]
    first = told.result.findings[0]
    assert first.text.startswith("made: tfidf-users")
    assert first.numbers["trait"] in ("group", "gender")
    assert first.numbers["best_f1"] >= first.numbers["worst_f1"]
    assert "For whom does it work?" in (out / "report.html").read_text("utf-8")


def test_every_feasible_cell_is_run_and_the_others_are_named_with_a_reason(report: Any) -> None:
    told, _ = report
    scores, left = table(told, "scores-made"), table(told, "not-run")
    # Two users × three adaptations × two texts for each of the two raters that know users, less unnamed without any.
    assert scores.filter(pl.col("users") != "–").height == 2 * 10
    assert set(scores.filter(pl.col("users") == "–")["rater"]) == {"majority", "text-majority", "tfidf"}
    assert left.filter(users="unnamed", adaptation="none")["reason"].to_list() == [
        "of an unnamed user without adaptation nothing is known"
    ]
    assert left["cells"].sum() + len(scores) == 3 * 2 + 2 * 12


def test_a_rater_that_knows_sides_beats_one_that_does_not_and_sees_the_minority(report: Any) -> None:
    scores = table(report[0], "scores-made")
    blind = scores.filter(rater="tfidf", extended="no").row(0, named=True)
    told = scores.filter(rater="tfidf-users", users="named", adaptation="none", extended="no").row(0, named=True)
    assert told["user"] > blind["user"] + 0.1
    assert told["annotations"] == blind["annotations"] > 0
    assert told["support"] == blind["support"]
    stances = table(report[0], "stances")
    against = dict(stances.filter(stance="against most").select("rater", "accuracy").iter_rows())
    knows = next(name for name in against if name.startswith("tfidf-users"))
    assert against[knows] > max(value for name, value in against.items() if name != knows)


def test_the_trait_that_matters_among_people_is_found_and_the_other_is_not(report: Any) -> None:
    gains = dict(table(report[0], "explained").select("trait", "gain").iter_rows())
    assert gains["group"] > 0.02
    assert gains["gender"] < 0.01
    change = table(report[0], "label-change")
    between = {row["trait"]: row for row in change.iter_rows(named=True)}
    assert between["group"]["model_between"] > (between["gender"]["model_between"] or 0)
    assert between["group"]["people_between"] > 0
    assert table(report[0], "ablation").height == 3


def test_juries_of_the_two_sides_decide_differently(report: Any) -> None:
    found = table(report[0], "juries").filter(source="predicted")
    share = dict(found.select("jury", "positive").iter_rows())
    assert share["4 target"] > share["4 control"]


def test_predictions_stand_in_the_corpus_as_raters_that_stand_for_users(report: Any) -> None:
    corpus = Corpus.read(report[1] / "corpus")
    stands = corpus.raters.filter(pl.col("stands_for").is_not_null(), model="tfidf-users", style="named/none/strict")
    assert stands["kind"].cast(pl.String).unique().to_list() == ["trained"]
    assert set(stands["stands_for"]) <= set(corpus.raters.filter(kind="person")["rater"])
    judged = corpus.judgments.join(stands, on="rater", how="semi")
    assert len(judged) == table(report[0], "scores-made")["annotations"][0]


def test_finished_cells_are_read_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Any
) -> None:
    options = {**LIGHT, "methods": "majority,user-majority", "resamples": 0}
    fitted: list[str] = []

    def counted(split: Any, method: str, **more: Any) -> Any:
        if len(fitted) == 4:
            raise KeyboardInterrupt
        fitted.append(method)
        return fitting.fit_pairs(split, method, **more)

    monkeypatch.setattr(learning, "fit_pairs", counted)
    with pytest.raises(KeyboardInterrupt):
        run("perseval", data=folder, out=tmp_path / "out", **options)
    assert Corpus.read(tmp_path / "out" / "corpus").raters.filter(kind="trained")["model"].n_unique() == 2
    before = len(list((tmp_path / "out" / "predictions").glob("*.parquet")))
    assert before == 4
    monkeypatch.setattr(learning, "fit_pairs", fitting.fit_pairs)
    again = run("perseval", data=folder, out=tmp_path / "out", **options)
    first = table(report[0], "scores-made").filter(rater="user-majority").select("global", "user", "text")
    assert table(again, "scores-made").filter(rater="user-majority").select("global", "user", "text").equals(first)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(learning, "fit_pairs", never)
    run("perseval", data=folder, out=tmp_path / "out", **options)


def test_without_torch_the_light_raters_run_and_the_report_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(split: Any, method: str, **more: Any) -> Any:
        if PAIR_METHODS[method].torch:
            raise InputError(f"the method '{method}' needs torch, which is not installed", remedy="install it")
        return fitting.fit_pairs(split, method, **more)

    monkeypatch.setattr(learning, "fit_pairs", missing)
    told = run("perseval", data=folder, methods="majority,baseline,tokens", quick=True, resamples=0)
    assert any("No encoder was trained: The method 'baseline' needs torch" in text for text in told.result.warnings)
    assert set(table(told, "scores-made")["rater"]) == {"majority"}
    assert "it was not run; the warnings say why" in set(table(told, "not-run")["reason"])


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")

    def reply(body: dict[str, Any]) -> str:
        system, *_, item = [message["content"] for message in body["messages"]]
        side = "target" in system or "crowd" in item
        return "yes" if side else "no"

    with Endpoint(reply) as running:
        yield running


def test_models_are_prompted_with_nothing_a_trait_or_a_history(
    folder: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    told = run(
        "perseval",
        data=folder,
        out=tmp_path / "out",
        models=["openai:tester"],
        settings={"base_url": endpoint.url},
        methods="majority",
        traits="group",
        texts=6,
        resamples=20,
        retrieval="tfidf",
    )
    scores = table(told, "scores-made").filter(pl.col("rater").str.starts_with("openai"))
    assert scores.select("rater", "users", "adaptation").rows() == [
        ("openai:tester: base", "–", "–"),
        ("openai:tester: perspective", "named", "none"),
        ("openai:tester: history", "named", "test"),
        ("openai:tester: history", "unnamed", "test"),
    ]
    # Every text was put once without a user and once with each of the two sides.
    first = [r for r in endpoint.requests if len(r["messages"]) == 2]
    assert len(first) == 6 * 3
    assert table(told, "prompt-change")["between"][0] == pytest.approx(
        sum("crowd" not in r["messages"][1]["content"] for r in first) / len(first)
    )
    corpus = Corpus.read(tmp_path / "out" / "corpus")
    people = corpus.raters.filter(kind="person")["rater"]
    test = corpus.judgments.join(
        corpus.raters.filter(model="majority", style="strict").select("rater", "stands_for"), on="rater"
    )
    asked = {(item, user) for item, user in test.select("item", "stands_for").iter_rows()}
    texts = dict(corpus.items.select("text", "item").iter_rows())
    shown = 0
    for request in endpoint.requests:
        *examples, _ = [m["content"] for m in request["messages"] if m["role"] == "user"]
        assert len(examples) <= 5
        for example in examples:
            item = next(item for text, item in texts.items() if text in example.splitlines()[0])
            # What is shown is never a pair of the test set, of whomever.
            assert not any((item, user) in asked for user in people)
            shown += 1
    assert shown
    assert table(told, "same-texts-made")["annotations"].n_unique() == 1
    before = len(endpoint.requests)
    run(
        "perseval",
        data=folder,
        out=tmp_path / "out",
        models=["openai:tester"],
        settings={"base_url": endpoint.url},
        methods="majority",
        traits="group",
        texts=6,
        resamples=20,
        retrieval="tfidf",
    )
    assert len(endpoint.requests) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"corpus": "hs-brxit"}, "there is no corpus 'hs-brxit'; did you mean 'hs-brexit'"),
        ({"corpus": ","}, "no corpus is named"),
        ({"corpus": "mp"}, "corpus 'mp' is not here"),
        ({"scoring": "maybe"}, "scoring 'maybe' is not known"),
        ({"draw": "lots"}, "draw 'lots' is not known"),
        ({"threshold": 2.0}, "a threshold of 2.0 is no F1"),
        ({"texts": -1}, "cannot be negative"),
    ],
)
def test_bad_options_are_told_in_one_sentence(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        run("perseval", data=tmp_path, **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"methods": "tfdf"}, "there is no method 'tfdf'; did you mean 'tfidf'"),
        ({"prompts": "bases"}, "there is no way to prompt 'bases'"),
        ({"question": "offence"}, "the corpus has no question 'offence'"),
    ],
)
def test_what_the_corpus_or_the_raters_do_not_have_is_named(folder: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        run("perseval", data=folder, models=["openai:tester"], **options)


@pytest.mark.slow
def test_encoders_are_trained_once_for_users_met_before_and_after(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.raters.trained.tiny import tiny_encoder

    told = run(
        "perseval",
        data=folder,
        out=tmp_path / "out",
        methods="majority,baseline,tokens",
        encoder=str(tiny_encoder(tmp_path / "tiny")),
        quick=True,
        resamples=0,
    )
    scores = table(told, "scores-made")
    assert scores.filter(rater="tokens").select("users", "adaptation").rows() == [("named", "none"), ("named", "test")]
    assert len(list((tmp_path / "out" / "checkpoints").glob("made-tokens*"))) <= 1
    assert table(told, "juries")["rater"].unique().to_list() == ["tokens"]
