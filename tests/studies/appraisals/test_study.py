"""The whole study on a small invented release, its bad inputs, and the published figures on the real one."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.truth import check_all
from tests.studies.appraisals.release import write
from vantage.errors import InputError
from vantage.raters import encoders
from vantage.raters.models.base import ModelError
from vantage.report.folder import Report
from vantage.studies import run

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"resamples": 5, "draws": 1, "topics": 2, "fits": 2, "folds": 3}


def tables(report: Report) -> dict[str, pl.DataFrame]:
    return {table.name: table.frame for table in report.result.tables}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("appraisals") / "release")


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return run("appraisals", data=folder, **SMALL)


@pytest.fixture(scope="module")
def found(report: Report) -> dict[str, pl.DataFrame]:
    return tables(report)


def test_every_sentence_is_true_to_its_numbers(report: Report) -> None:
    check_all(report.result)
    assert len(report.result.findings) >= 6


def test_distributions_blanks_and_groups(found: dict[str, pl.DataFrame]) -> None:
    assert len(found["ratings"]) == 24
    assert found["ratings"]["blank"].mean() == pytest.approx(1 / 7, abs=0.03)
    assert found["agreement-groups"]["questions"].to_list() == ["1 to 6", "7 to 12", "13 to 18", "19 to 24"]


def test_agreement_in_both_codings(found: dict[str, pl.DataFrame]) -> None:
    told = found["agreement"].filter(pl.col("statistic") == "Pearson per question")
    assert told["blanks"].to_list() == ["as 0", "left out"]
    # Both annotators are within a point of the same level, and leave the same cells blank.
    assert (told["estimate"] > 0.5).all()
    kappas = dict(found["agreement-blanks"].select("coefficient", "estimate").iter_rows())
    assert kappas["randolph"] == pytest.approx(1.0)
    questions = found["agreement-questions"]
    assert len(questions) == 24
    assert questions["delta_answers"].to_list() == sorted(questions["delta_answers"], reverse=True)
    overall = found["agreement"].filter(statistic="mean absolute difference", blanks="left out")["estimate"][0]
    weighted = questions.select(
        (pl.col("delta_answers") * pl.col("pairs_answered")).sum() / pl.col("pairs_answered").sum()
    )
    assert weighted.item() == pytest.approx(overall)
    for ends in (("delta_low", "delta", "delta_high"), ("randolph_low", "randolph", "randolph_high")):
        low, middle, high = (found["agreement-groups"][name] for name in ends)
        assert ((low <= middle) & (middle <= high)).all()


def test_the_model_and_what_takes_no_reading(found: dict[str, pl.DataFrame]) -> None:
    rows = {(r["rater"], r["read_by"], r["blanks"]): r for r in found["models"].iter_rows(named=True)}
    parser = rows["chatgpt", "parser", "as 0"]
    assert parser["delta"] == pytest.approx(rows["chatgpt", "first whole number", "as 0"]["delta"])
    assert rows["chatgpt", "parser", "left out"]["delta"] < parser["delta"]
    assert rows["always 5", "", "as 0"]["per_question"] is None
    unread = found["models-unread"].row(0, named=True)
    assert unread["farther"] == pytest.approx(unread["delta"] - unread["floor"])
    assert unread["delta"] == pytest.approx(parser["delta"])
    guesses = {name: row["delta"] for (name, read_by, _), row in rows.items() if not read_by}
    assert len(guesses) == 3
    assert unread["floor"] == pytest.approx(min(guesses.values()))
    assert guesses[unread["floor_rater"]] == min(guesses.values())
    assert unread["skill"] == pytest.approx((unread["floor"] - unread["delta"]) / (unread["floor"] - unread["ceiling"]))
    (tried,) = found["models-alternative"].rows(named=True)
    assert (tried["tested"], tried["estimate"], tried["passes"]) == (2, 1.0, None)
    assert tried["reason"].endswith("a verdict needs 3")
    assert set(found["models-replies"]["status"]) == {"answered"}


def test_emotions_that_never_occur_have_a_reason(found: dict[str, pl.DataFrame]) -> None:
    told = found["emotion-prediction"]
    joy = told.filter(pl.col("emotion") == "joy").row(0, named=True)
    assert joy["auc"] is None
    assert joy["reason"] == "seen in 0 of 24 posts; 10 with and without it are needed"
    assert told.filter(pl.col("emotion") == "anger")["auc"].null_count() == 0
    profiles = found["emotion-profiles"]
    assert profiles.filter(emotion="joy")["mean"].null_count() == 24
    anger = profiles.filter(emotion="anger")
    assert anger.select((pl.col("mean") - pl.col("all") - pl.col("difference")).abs().max()).item() < 1e-9


def test_reasons_beside_chance(found: dict[str, pl.DataFrame]) -> None:
    told = found["reasons-agreement"].filter(
        (pl.col("metric") == "rouge-l") & (pl.col("candidates_by") == "the other annotator")
    )
    actual = told.filter(pl.col("pairs") == "actual")["estimate"][0]
    assert (told.filter(pl.col("pairs") != "actual")["estimate"] < actual).all()
    assert (actual - told["estimate"]).to_list()[1:] == pytest.approx(told["beyond"].to_list()[1:])
    assert found["reasons-agreement"].drop_nulls("said")["metric"].unique().to_list() == ["rouge-l"]
    assert {"reasons-form", "reasons-topics", "reasons-models"} <= set(found)


def test_human_scores_and_automatic_measures(found: dict[str, pl.DataFrame]) -> None:
    told = {(r["criterion"], r["source"]): r["estimate"] for r in found["evaluation"].iter_rows(named=True)}
    assert told["relevance", "experts"] == pytest.approx((4 + 8 / 12 - 1) / 4)
    assert set(found["evaluation-agreement"]["question"]) == {"factuality", "relevance", "consistency", "usefulness"}
    assert found["evaluation-agreement"].drop_nulls(["randolph", "alpha"]).height == 4
    related = found["evaluation-automatic"]
    assert {"rouge-l", "length in words"} <= set(related["automatic"])
    assert related["estimate"].drop_nulls().abs().max() <= 1.0  # type: ignore[operator]
    assert len(related) == related.n_unique(["automatic", "criterion"])
    apart = {row["criterion"]: row["estimate"] for row in found["evaluation-differences"].iter_rows(named=True)}
    for criterion, difference in apart.items():
        assert difference == pytest.approx(told[criterion, "chatgpt"] - told[criterion, "experts"])


def test_every_part_has_its_figure(report: Report) -> None:
    figures = {
        figure.name for section in report.result.sections for figure in section.parts if hasattr(figure, "chart")
    }
    assert {
        "ratings-box",
        "ratings-violin",
        "emotion-profiles",
        "evaluation",
        "models-questions",
    } <= figures


@pytest.mark.parametrize("name", ["agreement-questions", "emotion-profiles", "emotion-weights", "evaluation-automatic"])
def test_figures_can_be_drawn_where_some_things_are_missing(report: Report, name: str) -> None:
    figure = next(figure for figure in report.result.figures if figure.name == name)
    assert figure.draw().axes


def test_missing_rationales_and_encoders_leave_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "release", no_rationales=True, evaluated=False, emotions=())
    monkeypatch.setitem(sys.modules, "bert_score", None)
    monkeypatch.setattr(encoders, "minilm_folder", _not_installed)
    told = run("appraisals", data=folder, encoder="minilm", bertscore="minilm", **SMALL)
    warned = " ".join(told.result.warnings)
    assert "BERTScore is left out" in warned
    assert "Likeness in meaning is left out" in warned
    found = tables(told)
    assert found["reasons-agreement"]["estimate"].null_count() == len(found["reasons-agreement"])
    assert found["agreement"]["estimate"].null_count() == 0


def test_without_data_the_study_says_where_they_come_from() -> None:
    with pytest.raises(InputError, match="needs data"):
        run("appraisals")


def test_models_are_asked_in_both_ways(tmp_path: Path) -> None:
    folder = write(tmp_path / "release", evaluated=False)
    rows = [
        {"item": f"p{post}", "question": question, "sample": sample, "reply": "Since it says so.\nAnswer: 6"}
        for post in range(2)
        for question in _questions()
        for sample in range(2)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "answers.csv")
    told = run(
        "appraisals",
        data=folder,
        models=[f"recorded:{tmp_path / 'answers.csv'}"],
        steps="one",
        runs=2,
        posts=2,
        **SMALL,
    )
    runs = tables(told)["models-runs"]
    names = sorted(runs["rater"].unique())
    assert names[0] == "chatgpt"
    assert names[1].endswith("answers.csv+zero-shot")
    assert runs.filter(pl.col("rater") != "chatgpt")["run"].to_list() == [0, 1]


def _not_installed() -> Path:
    raise ModelError("The encoder is not installed.")


def _questions() -> list[str]:
    from vantage import Instrument

    return [question.id for question in Instrument.load("appraisals").questions]


@pytest.mark.slow
@pytest.mark.data
def test_the_published_figures(data_dir: Path, tmp_path: Path) -> None:
    # One of the four models is enough for the figures that are looked at, and a third of the time.
    for file in (data_dir / "appraisals").rglob("*.*"):
        if "responses" not in file.parent.name or "chatgpt" in file.name:
            place = tmp_path / file.relative_to(data_dir / "appraisals")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file.resolve())
    report = run("appraisals", data=tmp_path, resamples=5, draws=2, topics=0, fits=1)
    told = tables(report)["published"]
    matched = told.filter(pl.col("verdict") == "matched")
    by_place = dict(matched.group_by("where").len().iter_rows())
    assert by_place["Table 2"] == 5
    assert by_place["Section 4.1"] == 1
    # One of the sixteen, 0.83846, stands there as 0.839.
    assert by_place["authors' notebook"] == 15
    experts = told.filter(pl.col("what").str.ends_with("experts") & pl.col("what").str.contains("bleu|rouge"))
    assert experts["verdict"].to_list() == ["matched"] * 6
    chatgpt = told.filter(pl.col("what") == "chatgpt: mean absolute delta").row(0, named=True)
    assert chatgpt["verdict"] == "matched"
    errata_hold(tables(report))


def errata_hold(found: dict[str, pl.DataFrame]) -> None:
    """The figures in the errata of the documentation are those of the tables."""
    agreed = {(row["statistic"], row["blanks"]): row["estimate"] for row in found["agreement"].iter_rows(named=True)}
    silent = dict(found["agreement-blanks"].select("coefficient", "estimate").iter_rows())
    models = found["models"].filter(pl.col("read_by") != "parser", blanks="as 0")
    beside = models.rows_by_key("rater", named=True, unique=True)
    asked, always = beside["chatgpt"], beside["always 5"]
    profile = beside["mean of the question over other posts"]
    per_question, left_out = (agreed["Pearson per question", blanks] for blanks in ("as 0", "left out"))
    per_post, apart = agreed["Pearson per post", "as 0"], agreed["mean absolute difference", "as 0"]
    errata = {
        "0.3700 and 0.6271": [per_question, per_post],
        "other posts reaches 0.695": [profile["per_post"]],
        "Randolph 0.769, Fleiss 0.501, Cohen 0.504": [silent[name] for name in ("randolph", "fleiss", "cohen")],
        "gets 0.700, ChatGPT 0.695": [always["randolph"], asked["randolph"]],
        "half their distance: 0.953 is 1.905": [agreed["standard deviation (population)", "as 0"], apart],
        "sample SD is 1.347": [agreed["standard deviation (sample)", "as 0"]],
        "0.370 and 0.306 per question": [per_question, asked["per_question"]],
        "0.627 and 0.489 per post": [per_post, asked["per_post"]],
        "2.086 on all 241": [asked["delta"]],
        "falls from 1.905 to 1.705": [apart, agreed["mean absolute difference", "left out"]],
        "rises from 0.370 to 0.52": [per_question, left_out],
    }
    page = (Path(__file__).parents[3] / "docs" / "appraisals.md").read_text("utf-8").partition("## Errata")[2]
    for printed, values in errata.items():
        assert printed in " ".join(page.split())
        for number, value in zip(re.findall(r"\d\.\d+", printed), values, strict=True):
            assert float(number) == pytest.approx(value, abs=0.501 * 10 ** -len(number.partition(".")[2])), printed
    assert max(asked["fleiss"], always["fleiss"]) < 0
