from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from tests.report.truth import check_all, check_intervals, findings
from tests.studies.perseval.made import corpus, write
from vantage import Corpus, InputError, Instrument, Scale
from vantage.raters.trained import fit
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies import run
from vantage.studies.perseval import study

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


@pytest.mark.slow
def test_every_sentence_is_true_to_its_numbers(report: Any) -> None:
    told, out = report
    check_all(told.result)
    check_intervals(told.result)
    assert told.result.sections[0].parts[0].name == "for-whom"
    page = (out / "report.html").read_text("utf-8")
    assert "For whom does it work?" in page
    assert {part.name: len(part.heads()) for part in told.result.tables if len(part.heads()) > 10} == {}


@pytest.mark.slow
def test_who_is_served_worse_is_decided_by_the_ledger(report: Any) -> None:
    every = table(report[0], "gaps")
    claims = {claim.row: claim for claim in report[0].result.ledger if claim.table == "gaps"}
    for number, row in enumerate(every.iter_rows(named=True)):
        assert (number in claims) == (row["p_worse"] is not None)
        if number in claims:
            assert claims[number].p_family == pytest.approx(row["p_adjusted"], rel=1e-9)


@pytest.mark.slow
def test_what_knowing_the_user_buys_is_found_trait_by_trait(report: Any) -> None:
    rows = {(row["what"], row["rater"]): row for row in table(report[0], "bought").iter_rows(named=True)}
    side, gender = (rows["trait", f"tfidf-users: {trait} alone"] for trait in ("group", "gender"))
    # Answers depend on the side of a person and not on their gender.
    assert side["difference"] > 0.1
    # Alone; among all comparisons of its family the interval is longer, and none exceeds what a difference can be.
    assert -1 <= side["low"] < side["low_alone"] < side["difference"] < side["high_alone"] < side["high"] <= 1
    assert gender["difference"] < side["difference"] / 2
    assert {what for what, _ in rows} == {"trait", "adaptation", "method"}
    assert all(row["p_family"] is None or row["p_family"] >= row["p"] for row in rows.values())
    (drawn,) = (figure for figure in report[0].result.figures if figure.name == "bought")
    assert drawn.options["reference"] == 0.0


def test_a_model_that_reads_only_a_name_is_warned_about(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with Endpoint(lambda body: "yes") as endpoint:
        told = run(
            "perseval",
            data=folder,
            models=["openai:planted"],
            settings={"base_url": endpoint.url},
            prompts="base",
            methods="majority",
            texts=2,
            **LIGHT,
        )
    assert any("has no wording" in warning for warning in told.result.warnings)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_rater_that_knows_sides_beats_one_that_does_not_and_sees_the_minority(report: Any) -> None:
    scores = table(report[0], "scores-made")
    blind = scores.filter(rater="tfidf", extended="no").row(0, named=True)
    told = scores.filter(rater="tfidf-users", users="named", adaptation="none", extended="no").row(0, named=True)
    assert told["user"] > blind["user"] + 0.1
    assert told["annotations"] == blind["annotations"] > 0
    assert told["support"] == blind["support"]
    against = dict(table(report[0], "minority").select("rater", "against").iter_rows())
    knows = next(name for name in against if name.startswith("tfidf-users"))
    assert against[knows] > max(value for name, value in against.items() if name != knows)
    beside = table(report[0], "bought").filter(what="method")
    row = beside.filter(pl.col("rater") == told_name(told)).row(0, named=True)
    assert row["beside"] == "tfidf (strict)"
    assert (row["knows"], row["without"]) == (told["user"], blind["user"])
    extended = beside.filter(~pl.col("strict"))
    assert len(extended)
    assert row["difference"] == pytest.approx(told["user"] - blind["user"])
    assert row["low"] <= row["difference"] <= row["high"]


def told_name(row: dict[str, Any]) -> str:
    texts = "extended" if row["extended"] == "yes" else "strict"
    return f"{row['rater']} ({row['users']}, {row['adaptation']}, {texts})"


@pytest.mark.slow
def test_the_trait_that_matters_among_people_is_found_and_the_other_is_not(report: Any) -> None:
    gaps = dict(table(report[0], "explained").select("trait", "gap").iter_rows())
    assert gaps["group"] > 0.05
    chance = dict(table(report[0], "explained").select("trait", "p").iter_rows())
    assert chance["group"] < 0.01 < chance["gender"]
    change = table(report[0], "label-change")
    between = {row["trait"]: row for row in change.iter_rows(named=True)}
    assert between["group"]["between"] > (between["gender"]["between"] or 0)
    assert between["group"]["people"] > 0
    assert table(report[0], "ablation").height == 3


@pytest.mark.slow
def test_predictions_stand_in_the_corpus_as_raters_that_stand_for_users(report: Any) -> None:
    corpus = Corpus.read(report[1] / "corpus")
    stands = corpus.raters.filter(pl.col("stands_for").is_not_null(), model="tfidf-users", style="named/none/strict")
    assert stands["kind"].cast(pl.String).unique().to_list() == ["trained"]
    assert set(stands["stands_for"]) <= set(corpus.raters.filter(kind="person")["rater"])
    judged = corpus.judgments.join(stands, on="rater", how="semi")
    assert len(judged) == table(report[0], "scores-made")["annotations"][0]


@pytest.mark.slow
def test_finished_cells_are_read_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Any
) -> None:
    options = {**LIGHT, "methods": "majority,user-majority", "resamples": 0}
    fitted: list[str] = []

    def counted(split: Any, kind: str, **more: Any) -> Any:
        if len(fitted) == 4:
            raise KeyboardInterrupt
        fitted.append(kind)
        return fit(split, kind=kind, **more)

    monkeypatch.setattr(study, "fit", counted)
    with pytest.raises(KeyboardInterrupt):
        run("perseval", data=folder, out=tmp_path / "out", **options)
    left = Corpus.read(tmp_path / "out" / "corpus").raters.filter(kind="trained")
    assert (left["model"].n_unique(), left.n_unique(["model", "style"])) == (2, 4)
    fitted_again: list[str] = []

    def more(split: Any, kind: str, **options: Any) -> Any:
        fitted_again.append(kind)
        return fit(split, kind=kind, **options)

    monkeypatch.setattr(study, "fit", more)
    again = run("perseval", data=folder, out=tmp_path / "out", **options)
    assert "majority" not in fitted_again
    first = table(report[0], "scores-made").filter(rater="user-majority").select("global", "user", "text")
    assert table(again, "scores-made").filter(rater="user-majority").select("global", "user", "text").equals(first)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(study, "fit", never)
    run("perseval", data=folder, out=tmp_path / "out", **options)


def test_without_torch_the_light_raters_run_and_the_report_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(split: Any, kind: str, **more: Any) -> Any:
        if PAIR_METHODS[kind].torch:
            raise InputError(f"the method '{kind}' needs torch, which is not installed", remedy="install it")
        return fit(split, kind=kind, **more)

    monkeypatch.setattr(study, "fit", missing)
    told = run("perseval", data=folder, methods="majority,baseline,tokens", quick=True, resamples=0)
    assert any("No encoder was trained: The method 'baseline' needs torch" in text for text in told.result.warnings)
    assert set(table(told, "scores-made")["rater"]) == {"majority"}
    assert "it was not run; the warnings say why" in set(table(told, "not-run")["reason"])


@pytest.mark.parametrize("options", [{"people": 6, "each": 50}, {"texts": 5, "each": 5}, {"people": 12, "each": 3}])
def test_hardly_any_data_leave_true_sentences(tmp_path: Path, options: dict[str, int]) -> None:
    few = "majority,text-majority,user-majority"
    told = run("perseval", data=write(tmp_path, **options), encoder="none", resamples=20, methods=few)
    check_all(told.result)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A corpus without traits."""
    made = corpus()
    people = made.raters.select("rater")
    return Corpus(made.items, people, made.judgments, made.instruments, made.about).write(tmp_path / "bare")


def test_without_traits_users_are_known_by_their_answers(bare: Path) -> None:
    told = run("perseval", data=bare, methods="tfidf-users", encoder="none", resamples=20)
    check_all(told.result)
    assert set(table(told, "scores-made")["users"]) == {"unnamed"}


def test_without_traits_and_with_one_rater_the_rest_of_the_report_is_there(bare: Path) -> None:
    told = run("perseval", data=bare, methods="majority", encoder="none", resamples=20)
    check_all(told.result)
    names = {part.name for part in told.result.tables}
    assert {"for-whom", "scores-made", "minority"} <= names
    assert not {"gaps", "explained", "published", "bought"} & names


@pytest.mark.slow
def test_an_ordered_scale_is_scored_by_distance(tmp_path: Path) -> None:
    made = corpus(people=40)
    rng = np.random.default_rng(0)
    steps = pl.Series(rng.integers(0, 2, len(made.judgments)))
    answers = made.judgments.with_columns(value=1 + 3 * pl.col("value") + steps)
    ordered = Instrument.of_questions("made", "Made", {"offensive": Scale.points(1, 5)})
    path = Corpus(made.items, made.raters, answers, ordered, made.about).write(tmp_path / "ordered")
    told = run("perseval", data=path, methods="tfidf,tfidf-users", encoder="none", resamples=20)
    check_all(told.result)
    best = max(table(told, "scores-made").filter(rater="tfidf-users")["user"].to_list())
    lines = table(told, "for-whom").filter(pl.col("rater").str.starts_with("tfidf-users"))
    assert lines["user"].to_list() == [pytest.approx(best)]
    # Half of the answers are one step off whatever is predicted, so that a good rater misses by half a step.
    assert 0.75 < best < 0.95
    said = " ".join(finding.text for finding in findings(told.result))
    assert "have a closeness below 0.75 with tfidf-users" in said
    assert "F1" not in said
    captions = {part.name: part.caption for part in told.result.tables}
    assert "in closeness (1 less the mean distance" in captions["for-whom"]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")

    def reply(body: dict[str, Any]) -> str:
        system, *_, item = [message["content"] for message in body["messages"]]
        side = "target" in system or "crowd" in item
        return "yes" if side else "no"

    with Endpoint(reply) as running:
        yield running


@pytest.mark.slow
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
    texts = dict(corpus.items.select("text", "item").iter_rows())
    shown = 0
    for request in endpoint.requests:
        *examples, judged = [m["content"] for m in request["messages"] if m["role"] == "user"]
        assert len(examples) <= 5
        for example in examples:
            # A history never shows the text that is judged.
            text = next(text for text in texts if text in example.splitlines()[0])
            assert text not in judged
            shown += 1
    assert shown
    # All users of the six texts were asked for, not only those of the test set.
    asked = corpus.judgments.join(corpus.raters.filter(model="openai:tester: base"), on="rater")
    every = corpus.judgments.join(corpus.raters.filter(kind="person"), on="rater").join(asked, on="item", how="semi")
    assert len(asked) == len(every)
    same = table(told, "ranking")
    assert same["judged"].unique().to_list() == ["6 texts"]
    # Raters are only compared on the texts that all of them judged, whatever their scores on others.
    ranked = [e for f in findings(told.result) for e in f.evidence if e.rule.startswith("extreme")]
    assert {e.estimate for e in ranked} == {same["estimate"].max()}
    assert any("On 6 texts of" in f.text and "that all raters judged" in f.text for f in findings(told.result))
    check_all(told.result)
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
        ({"threshold": 2.0}, "a threshold of 2.0 is not an F1 score"),
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
