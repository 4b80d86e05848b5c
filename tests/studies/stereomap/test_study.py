"""The whole study on recorded answers with a known structure: what was planted is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.truth import check_all, check_intervals, claims
from tests.studies.stereomap.planted import recorded
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.report.folder import Report
from vantage.report.parts import Figure, Result
from vantage.studies import run
from vantage.studies.base import find
from vantage.studies.stereomap import answers, places, relations
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.elicitation import response_items
from vantage.studies.stereomap.groups import groups_corpus, published_groups, read_groups, reference_groups

NAME = "recorded:answers.parquet"


def tables(report: Report) -> dict[str, pl.DataFrame]:
    return {table.name: table.frame for table in report.result.tables}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("planted") / "answers.parquet"
    recorded(path, refused={"muslims": 3}, unread={"jews": 2})
    for number, (variant, keywords) in enumerate([("no-reasoning", False), ("no-instructions", True)]):
        shift = 0.4 if variant == "no-instructions" else 0.0
        recorded(path, condition=variant, keywords=keywords, runs=3, seed=number + 1, shift=shift)
    return run(
        "stereomap",
        models=[f"recorded:{path}"],
        groups="reference",
        runs=6,
        variants="no-reasoning, no-instructions",
        variant_runs=3,
        resamples=60,
    )


@pytest.fixture(scope="module")
def found(planted: Report) -> dict[str, pl.DataFrame]:
    return tables(planted)


@pytest.mark.slow
def test_planted_clusters_are_found_and_named(found: dict[str, pl.DataFrame]) -> None:
    people = found["people"].row(0, named=True)
    assert people["estimate"] > 0.8
    assert people["estimate"] > people["chance_high"]
    assert people["p"] < 0.001
    assert people["order"] > 0.85
    assert set(found["clusters"]["cluster"]) == {"HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"}
    assert len(found["groups"]) == 24


@pytest.mark.slow
def test_competence_against_warmth_is_tested_over_runs(found: dict[str, pl.DataFrame]) -> None:
    relation = dict(found["clusters"].select("cluster", "relation").iter_rows())
    assert (relation["HC-LW"], relation["LC-HW"]) == (">", "<")
    row = found["clusters"].filter(pl.col("cluster") == "HC-LW").row(0, named=True)
    assert row["runs"] == 6
    assert row["dz"] > 2
    assert row["p"] < 0.05
    assert row["difference"] > 0


@pytest.mark.slow
def test_centroids_are_means_of_their_groups_on_both_axes(found: dict[str, pl.DataFrame]) -> None:
    means = found["groups"].group_by("cluster").agg(pl.col("competence", "warmth").mean()).sort("cluster")
    told = found["clusters"].select("cluster", "competence", "warmth").sort("cluster")
    for one, two in zip(means.rows(), told.rows(), strict=True):
        assert one[0] == two[0]
        assert one[1:] == pytest.approx(two[1:])


@pytest.mark.slow
def test_mixed_clusters_of_people_are_recovered(found: dict[str, pl.DataFrame]) -> None:
    people = "people in 2002 (means of clusters)"
    ours, theirs = (
        found["recovered"].filter(test) for test in (pl.col("source") != people, pl.col("source") == people)
    )
    mixed = ours.filter(pl.col("human").is_in(["HC-LW", "LC-HW"]))
    assert (mixed["agreeing_low"] > 0).all()
    assert (mixed["jaccard"] > 0.6).all()
    # Where people see no difference there is no direction to agree with.
    assert ours.filter(pl.col("human").is_in(["HC-HW", "MC-MW"]))["agreeing"].null_count() == 2
    assert dict(theirs.select("human", "difference").iter_rows())["HC-LW"] == pytest.approx(1.06)


@pytest.mark.slow
def test_stability_is_told(found: dict[str, pl.DataFrame]) -> None:
    row = found["stability"].row(0, named=True)
    assert 0.5 < row["estimate"] <= 1
    assert row["runs"] == 6
    assert found["groups"]["held"].is_between(0, 1).all()
    assert found["number-of-clusters"]["k"].to_list() == list(range(1, 9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "sign"),
    [
        ("warmth", "active-facilitation", 1),
        ("warmth", "active-harm", -1),
        ("competence", "passive-facilitation", 1),
        ("competence", "passive-harm", -1),
        ("admiration", "passive-facilitation", 1),
        ("status", "competence", 1),
        ("competition", "warmth", -1),
    ],
)
def test_planted_correlations_are_found(found: dict[str, pl.DataFrame], first: str, second: str, sign: int) -> None:
    row = found["correlations"].filter(pl.col("first") == first, pl.col("second") == second).row(0, named=True)
    assert row["estimate"] * sign > 0.4
    assert row["p_adjusted"] < 0.05
    assert row["low"] < row["estimate"] < row["high"]


@pytest.mark.slow
def test_the_doubtful_human_sign_is_flagged_and_not_subtracted(found: dict[str, pl.DataFrame]) -> None:
    doubtful = found["correlations"].filter(pl.col("doubtful")).row(0, named=True)
    assert (doubtful["first"], doubtful["second"]) == ("competence", "passive-facilitation")
    assert (doubtful["human"], doubtful["otherwise"], doubtful["difference"]) == (-0.77, 0.77, None)
    others = found["correlations"].filter(pl.col("doubtful").not_()).drop_nulls("human")
    assert others["difference"].is_not_null().all()


@pytest.mark.slow
def test_planted_refusals_are_found_apart_from_what_was_not_read(found: dict[str, pl.DataFrame]) -> None:
    groups = {row["item"]: row for row in found["refusals-by-group"].iter_rows(named=True)}
    assert groups["muslims"]["estimate"] == pytest.approx(0.5)
    assert groups["muslims"]["unparsed_share"] == 0.0
    assert groups["jews"]["estimate"] == 0.0
    assert groups["jews"]["unparsed_share"] == pytest.approx(1 / 3)
    assert groups["women"]["estimate"] == 0.0
    assert found["refusals-by-group"]["item"][0] == "muslims"


@pytest.mark.slow
def test_planted_keywords_are_found(found: dict[str, pl.DataFrame]) -> None:
    told = found["keyword-dimensions"]
    low = told.filter(pl.col("cluster") == "LC-LW", pl.col("dimension") == "Assertiveness").row(0, named=True)
    assert low["direction"] == -1.0
    high = told.filter(pl.col("cluster") == "HC-LW", pl.col("dimension") == "Assertiveness").row(0, named=True)
    assert high["direction"] == 1.0
    assert high["direction_chance"] < high["direction"]
    # "not lazy" of the groups that are high on both is a negation.
    both = told.filter(pl.col("cluster") == "HC-HW", pl.col("dimension") == "Assertiveness").row(0, named=True)
    assert both["direction"] == 1.0
    covered = found["keyword-coverage"]["covered"].to_list()
    assert covered == sorted(covered)
    assert 0.8 < covered[-1] < 1


@pytest.mark.slow
def test_reasons_are_kept_by_cluster_and_names_are_masked(found: dict[str, pl.DataFrame]) -> None:
    phrases = found["phrases-by-cluster"]
    assert set(phrases["cluster"]) == {"HC-LW", "LC-HW", "LC-LW", "HC-HW", "MC-MW"}
    text = " ".join(phrases["phrases"]).casefold()
    for name in ("asian", "black", "jewish", "muslim", "hispanic", "native american", "christian"):
        assert name not in text


@pytest.mark.slow
def test_variants_are_compared(found: dict[str, pl.DataFrame]) -> None:
    variants = found["variants"]
    assert set(variants["condition"]) == {"no-reasoning", "no-instructions"}
    assert (variants["estimate"] > 0.7).all()
    shifted = variants.filter(pl.col("condition") == "no-instructions")
    assert (shifted["difference"] > 0.15).all()
    assert found["run-spread"]["runs"].max() == 3
    assert found["text-diversity"]["texts"].n_unique() == 1


@pytest.mark.slow
def test_extremes_have_variances(found: dict[str, pl.DataFrame]) -> None:
    ends = found["extremes"]
    assert {"traditional", "conservative", "wealthy", "high-status", "overall", "status", "competition"} == set(
        ends["question"]
    )
    status = ends.filter(pl.col("question") == "status").sort("place")
    assert status["place"].to_list() == list(range(1, 11))
    assert status["group_lowest"][0] in {
        "homeless people",
        "poor people",
        "welfare recipients",
        "people with disabilities",
    }
    assert status["mean_highest"].to_list() == sorted(status["mean_highest"].to_list(), reverse=True)
    assert ends["variance_highest"].is_not_null().all()


@pytest.mark.slow
def test_the_findings_say_what_was_planted(planted: Report) -> None:
    check_all(planted.result)
    check_intervals(planted.result)
    told = [finding.text for finding in planted.result.findings]
    assert len(told) <= 9
    said = [finding.text for section in planted.result.sections for finding in section.findings]
    higher = next(text for text in said if "competence is higher than warmth" in text)
    assert "clusters of high competence and low warmth" in higher
    assert "low competence and high warmth" not in higher
    assert any(text.startswith("Clusters agree with those of people in 2002 better than chance") for text in told)
    seen = next(text for text in told if text.startswith("The difference between competence and warmth that people"))
    assert all(f"“{title}”" in seen for title in ("competence above warmth", "warmth above competence"))
    assert any("refused 2.1 % of its judgments" in text for text in told)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report(planted: Report, tmp_path: Path) -> None:
    path = recorded(tmp_path / "answers.parquet", "short", keywords=False, runs=3)
    options: dict[str, Any] = {"groups": "reference", "form": "short", "runs": 3, "first": "nothing", "resamples": 20}
    one, two = (tables(run("stereomap", models=[f"recorded:{path}"], seed=5, **options)) for _ in range(2))
    assert all(one[name].equals(two[name]) for name in one)


@pytest.mark.slow
def test_several_models_and_all_of_them(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one.parquet", "short", runs=2, keywords=False)
    two = recorded(tmp_path / "two.parquet", "short", runs=2, keywords=False, seed=3)
    report = run(
        "stereomap",
        models=[f"recorded:{one}", f"recorded:{two}"],
        groups="reference",
        form="short",
        first="nothing",
        runs=2,
        resamples=20,
    )
    told = tables(report)
    assert set(told["groups"]["source"]) == {"recorded:one.parquet", "recorded:two.parquet", "all models"}
    groups = told["groups"].filter(pl.col("item") == "men").select("source", "warmth").rows()
    means = dict(groups)
    assert means["all models"] == pytest.approx((means["recorded:one.parquet"] + means["recorded:two.parquet"]) / 2)
    assert told["refusals"]["rater"].to_list() == ["recorded:one.parquet", "recorded:two.parquet"]


@pytest.mark.slow
def test_the_corpus_can_be_analysed_again_and_people_can_judge_the_answers(tmp_path: Path) -> None:
    path = recorded(tmp_path / "answers.parquet", runs=3)
    out = tmp_path / "out"
    report = run("stereomap", models=[f"recorded:{path}"], groups="reference", runs=3, out=out, resamples=20)
    assert (out / "report.html").stat().st_size > 10_000
    corpus = Corpus.read(out / "corpus")
    told = run("stereomap", data=out / "corpus", runs=3, resamples=20, evaluate=2, out=tmp_path / "again")
    assert any("48 answers are ready to be judged blindly" in warning for warning in told.result.warnings)
    evaluated = Corpus.read(tmp_path / "again" / "evaluation")
    assert len(evaluated.items) == 48
    assert evaluated.items["item"].str.starts_with("t-").all()
    assert tables(report)["groups"].equals(tables(told)["groups"])
    first = evaluated.items.row(0, named=True)
    assert ":" in first["keywords"]
    assert "Friendly: " in first["ratings"]
    assert first["again"]
    with pytest.raises(InputError, match="both keywords and ratings"):
        response_items(corpus.filter(question=["friendly"]))


def test_a_model_that_refuses_everything_gives_a_report_that_says_so(tmp_path: Path) -> None:
    refused = dict.fromkeys(("nurses", "lawyers", "students", "women", "men", "poor"), 2)

    groups = read_groups(", ".join(refused))
    path = recorded(tmp_path / "answers.parquet", "short", groups=groups, runs=2, refused=refused)
    report = run(
        "stereomap", models=[f"recorded:{path}"], groups=", ".join(refused), form="short", runs=2, out=tmp_path / "out"
    )
    assert "clusters" not in tables(report)
    assert tables(report)["refusals"]["estimate"].to_list() == [1.0]
    assert any("answered none of the questions (refused" in sentence for sentence in report.result.warnings)
    assert any("0 of 6 groups have all scores" in sentence for sentence in report.result.warnings)
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_missing_records_are_failures_and_no_refusals(tmp_path: Path) -> None:
    path = recorded(tmp_path / "answers.parquet", "short", runs=2, keywords=False)
    kept = pl.read_parquet(path).filter(
        (pl.col("item") != "men") & ((pl.col("item") != "women") | (pl.col("sample") == 0))
    )
    kept.write_parquet(path)
    report = run(
        "stereomap",
        models=[f"recorded:{path}"],
        groups="reference",
        form="short",
        runs=2,
        first="nothing",
        resamples=20,
    )
    men = tables(report)["refusals-by-group"].filter(pl.col("item") == "men").row(0, named=True)
    assert (men["estimate"], men["reason"]) == (None, "no reply was received")
    assert men["failed"] == 42
    groups = tables(report)["groups"]
    assert "men" not in groups["item"].to_list()
    assert groups.filter(pl.col("item") == "women")["runs"].to_list() == [1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"groups": "nurses, lawyers"}, "2 groups cannot make 5 clusters"),
        ({"groups": "nurses, nurses"}, "occurs twice"),
        ({"groups": "reference", "variants": "no-reasons"}, "did you mean 'no-reasoning'"),
        ({"groups": "reference", "runs": 0}, "at least one run"),
        ({"groups": "reference", "dictionary": "missing.csv"}, "no such file"),
        ({"groups": "reference", "answers": "guessing"}, "guessing"),
        ({"groups": "reference", "instrument": "irony"}, "gives 0 scores for the map"),
    ],
)
def test_bad_options_are_told_in_a_sentence(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    path = recorded(tmp_path / "answers.parquet", "short", runs=1, groups=())
    with pytest.raises(InputError, match=says):
        run("stereomap", models=[f"recorded:{path}"], **options)


def test_a_corpus_about_something_else_is_refused(tmp_path: Path) -> None:
    from vantage import demo_corpus

    with pytest.raises(InputError, match="no judgments of stereotype content"):
        run("stereomap", data=demo_corpus().write(tmp_path / "demo"))


def test_scored_answers_enter_with_their_expected_values() -> None:
    from vantage.instruments import Instrument
    from vantage.studies.stereomap.analysis import place

    instrument = Instrument.load("stereotype-content:short")
    rng = np.random.default_rng(0)
    rows = []
    for item in range(12):
        for question in instrument.questions:
            chances = rng.dirichlet(np.ones(5))
            expected = float(chances @ np.arange(1, 6))
            key = {"item": f"g{item:02}", "question": question.id, "rater": "m", "condition": "", "sample": 0}
            value = float(np.argmax(chances) + 1)
            rows.append(
                {**key, "value": value, "status": "answered", "expected": expected, "probabilities": chances.tolist()}
            )
    (source,) = place(pl.DataFrame(rows), instrument, k=3, resamples=30)
    assert source.clusters is not None
    assert source.sure is None
    warm = [
        row["expected"] for row in rows if row["item"] == "g00" and row["question"] in instrument.aggregates[0].members
    ]
    assert source.points[0, 1] == pytest.approx(np.mean(warm))
    assert source.over_runs([0], (1.0, 0.0)) == (None, None)
    assert source.ellipse(0, [0, 1]) is None


@pytest.mark.slow
def test_a_run_that_is_cut_off_says_how_much_is_there_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vantage.studies.running import stored_report
    from vantage.studies.stereomap.elicitation import BlockRater

    groups = "nurses, lawyers, students, women, men, poor"
    path = recorded(tmp_path / "answers.parquet", groups=read_groups(groups), runs=1, keywords=False)
    options: dict[str, Any] = {"groups": groups, "runs": 1, "first": "nothing", "k": 3, "resamples": 10}
    plan = BlockRater.plan

    def cut_off(self: BlockRater, *args: Any, **kwargs: Any) -> Any:
        if self.block == "emotions":
            raise KeyboardInterrupt
        return plan(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(BlockRater, "plan", cut_off)
        with pytest.raises(KeyboardInterrupt):
            run("stereomap", models=[f"recorded:{path}"], out=tmp_path / "out", **options)
    half = stored_report(tmp_path / "out")
    assert half.record.state == "interrupted"
    assert any("are written once all of it is done" in sentence for sentence in half.record.missing)
    whole = run("stereomap", models=[f"recorded:{path}"], out=tmp_path / "out", **options)
    assert whole.record.state == "complete"
    assert "correlations" in tables(whole)


QUICK: dict[str, Any] = {"groups": "reference", "form": "short", "first": "nothing", "resamples": 20}


def quick(path: Path, runs: int, **planted: Any) -> Report:
    recorded(path, "short", runs=runs, keywords=False, **planted)
    return run("stereomap", models=[f"recorded:{path}"], runs=runs, **QUICK)


@pytest.mark.slow
def test_scores_turned_round_turn_the_sentences_round(tmp_path: Path) -> None:
    report = quick(tmp_path / "answers.parquet", 5, inverted=True)
    check_all(report.result)
    told = [finding.text for finding in report.result.findings]
    opposite = next(text for text in told if text.startswith("The opposite of the difference"))
    assert "“competence above warmth”" in opposite
    assert "“warmth above competence”" in opposite
    assert not any(text.startswith("The difference between competence and warmth that people") for text in told)
    # Clusters are the same, whichever way round they are.
    assert any(text.startswith("Clusters agree with those of people in 2002 better than chance") for text in told)


@pytest.mark.slow
def test_noise_claims_nothing(tmp_path: Path) -> None:
    report = quick(tmp_path / "answers.parquet", 4, noise=True)
    check_all(report.result)
    assert claims(report.result) == []
    assert any("cannot be told apart from chance" in finding.text for finding in report.result.findings)
    said = [finding.text for section in report.result.sections for finding in section.findings]
    assert any(text.startswith("Whether there are several clusters at all is not clear for") for text in said)


SAYING = Claiming("vantage.studies.stereomap", places, relations, answers)
SHORT = Instrument.load("stereotype-content:short")


def on_noise(seed: int) -> Result:
    """Groups that are all alike, in the eyes of one model or two; the number of runs varies."""
    rng = np.random.default_rng(seed)
    models = ["m", "n"][: 1 + seed % 2]
    columns = {"item": [group.id for group in reference_groups()], "rater": models, "sample": range(4 + seed % 5)}
    rows = pl.DataFrame({"question": [question.id for question in SHORT.questions]})
    for name, values in columns.items():
        rows = rows.join(pl.DataFrame({name: list(values)}), how="cross")
    value = pl.Series("value", np.clip(np.rint(rng.normal(3, 0.8, len(rows))), 1, 5))
    raters = pl.DataFrame({"rater": models, "kind": "model"})
    corpus = groups_corpus(reference_groups(), SHORT).add(rows.with_columns(value), raters)
    return SAYING.result(Stereomap(corpus, find("stereomap").options(resamples=20), seed))


@pytest.mark.slow
def test_noise_claims_nothing_whoever_is_asked() -> None:
    assert claiming(on_noise, range(3)) == {}


@pytest.mark.slow
def test_noise_hardly_ever_claims_anything() -> None:
    assert len(found := claiming(on_noise, range(SEEDS // 2))) <= few(SEEDS // 2), found


def test_one_run_claims_only_what_needs_no_runs(tmp_path: Path) -> None:
    report = quick(tmp_path / "answers.parquet", 1)
    check_all(report.result)
    found = tables(report)
    assert found["groups"].select("warmth_low", "apart_low", "held").null_count().row(0) == (24, 24, 24)
    assert found["clusters"]["reason"].unique().to_list() == ["one run only: there is nothing to test over"]
    without_runs = ("better than chance", "refused", "is found again")
    assert all(any(part in text for part in without_runs) for text in claims(report.result))


@pytest.mark.slow
def test_few_runs_are_mentioned_and_have_wide_intervals(tmp_path: Path) -> None:
    three, ten = (quick(tmp_path / f"{runs}.parquet", runs) for runs in (3, 10))
    told = [[note for table in one.result.tables for note in table.notes] for one in (three, ten)]
    assert any("only 3 runs" in note for note in told[0])
    assert not any("only" in note and "runs;" in note for note in told[1])
    row = tables(three)["groups"].row(0, named=True)
    # A t interval over three runs: the mean, 4.30 standard errors to each side.
    assert row["warmth"] - row["warmth_low"] == pytest.approx(row["warmth_high"] - row["warmth"])
    wide, narrow = (
        (tables(one)["groups"]["apart_high"] - tables(one)["groups"]["apart_low"]).mean() for one in (three, ten)
    )
    assert isinstance(wide, float)
    assert isinstance(narrow, float)
    assert wide > 2 * narrow


def test_two_groups_and_no_reference_are_enough(tmp_path: Path) -> None:
    groups = "nurses, lawyers"
    path = recorded(tmp_path / "answers.parquet", "short", groups=read_groups(groups), runs=3, keywords=False)
    report = run("stereomap", models=[f"recorded:{path}"], groups=groups, form="short", first="nothing", runs=3, k=2)
    check_all(report.result)
    assert "people" not in tables(report)
    assert any("nothing is compared with people in 2002" in text for text in report.result.warnings)


@pytest.mark.slow
def test_a_map_of_many_groups_takes_the_width_of_the_page(planted: Report) -> None:
    drawn = next(figure for figure in planted.result.figures if figure.name == "map")
    assert (drawn.options["beside"], drawn.options["height"]) == (2, 5.2)
    # Six runs have an ellipse, four and three do not; the means of people's clusters are ghosts.
    assert drawn.data.remove("ghost").filter(pl.col("ellipse_width").is_null())["item"].to_list() == ["jews", "muslims"]
    assert len(drawn.data.filter("ghost")) == 5
    instrument = Instrument.load("stereotype-content:short")
    groups = published_groups()[:45]
    asked = pl.DataFrame({"question": [question.id for question in instrument.questions]})
    rows = pl.DataFrame({"item": [group.id for group in groups], "rater": "m"}).join(asked, how="cross")
    values = np.random.default_rng(0).integers(1, 6, len(rows)).astype(float)
    corpus = groups_corpus(groups, instrument).add(
        rows.with_columns(pl.Series("value", values)), pl.DataFrame({"rater": ["m"], "kind": ["model"]})
    )
    (figure,) = places.maps(Stereomap(corpus, find("stereomap").options(resamples=5)))
    assert isinstance(figure, Figure)
    assert (figure.options["beside"], figure.options["height"]) == (1, 8.2)
    assert figure.data["warmth_low"].null_count() == len(figure.data)


def test_all_models_together_place_the_groups_that_each_of_them_placed() -> None:
    from vantage.studies.stereomap.analysis import ALL, place

    instrument = Instrument.load("stereotype-content:short")
    # The second model is a point higher, and did not answer about the last group.
    rows = [
        {
            "item": item,
            "question": q.id,
            "rater": rater,
            "condition": "",
            "sample": run,
            "value": value + 1.0 * (rater == "b"),
        }
        for value, item in enumerate(["x", "y", "z"], 1)
        for q in instrument.questions
        for rater in "ab"
        for run in range(2)
        if (rater, item) != ("b", "z")
    ]
    placed = {one.name: one for one in place(pl.DataFrame(rows), instrument, k=2, resamples=10)}
    assert (placed["a"].items, placed["b"].items, placed[ALL].items) == (("x", "y", "z"), ("x", "y"), ("x", "y"))
    assert placed[ALL].points[:, 0].tolist() == [1.5, 2.5]
