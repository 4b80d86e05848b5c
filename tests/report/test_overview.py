from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.report.made import made
from tests.report.noise import SEEDS, Claiming, claiming, few
from tests.report.reports import HOSTILE
from tests.report.truth import check_all, check_intervals
from vantage import Corpus, Instrument, Scale, demo_corpus
from vantage.corpora import About
from vantage.corpora.readers import load
from vantage.measures import alpha
from vantage.report import beside
from vantage.report import overview as report_on_a_corpus
from vantage.report.beside import CorpusAnalysis
from vantage.report.cases import disagreements
from vantage.report.groups import traits as groups_by_trait
from vantage.report.overview import corpus_report, overview
from vantage.report.parts import Result


def small(judgments: dict[str, list[object]], scale: Scale, kinds: list[str]) -> Corpus:
    items = pl.DataFrame({"item": ["a", "b"], "text": [HOSTILE, "fine"]})
    raters = pl.DataFrame({"rater": [f"r{i}" for i in range(len(kinds))], "kind": kinds})
    schema = {"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64, "status": pl.String}
    frame = pl.DataFrame(judgments or None, schema=schema)
    return Corpus(items, raters, frame, Instrument.of_questions("mine", "Mine", {"q": scale}))


def said(result: Result) -> str:
    return " ".join(finding.text for section in result.sections for finding in section.findings)


def frame(result: Result, name: str) -> pl.DataFrame:
    return next(table.frame for table in result.tables if table.name == name)


def test_the_demo_corpus_gives_numbers_that_the_measures_give() -> None:
    result = overview(demo_corpus(), seed=3)
    check_all(result)
    check_intervals(result)
    found = frame(result, "alpha")
    assert found["question"].to_list() == ["trust", "sociability", "competence"]
    direct = dict(alpha(demo_corpus(), by="question", seed=3).select("question", "low").iter_rows())
    assert dict(found.select("question", "low_alone").iter_rows()) == direct
    together = {
        claim.name: claim.low for claim in result.ledger if claim.table == "alpha" and claim.p_family is not None
    }
    assert dict(found.select("question", "low").iter_rows()) == together
    assert all(together[name] < direct[name] for name in direct)
    assert "(median r = 0.88): r9" in said(result), "the rater who was made to answer without reading"


def test_without_people_models_are_scored_by_the_reference_that_came_with_the_data() -> None:
    values = [(0, 0, 0, 1), (1, 1, 1, 1), (2, 0, 0, 0), (3, 1, 0, 1), (4, 1, 1, 0), (5, 0, 0, 0)]
    kinds = {"gold": "aggregate", "m1": "model", "m2": "model"}
    table = pl.DataFrame(
        [(f"i{item}", rater, value) for item, *row in values for rater, value in zip(kinds, row, strict=True)],
        schema=["item", "rater", "value"],
        orient="row",
    )
    result = overview(load("table", table, kinds=kinds))
    assert "2 models" in next(one for one in result.tables if one.name == "alpha").caption
    scores = frame(result, "reference").filter(metric="accuracy").select("rater", "reference", "estimate").rows()
    assert scores == [("m1", "gold", pytest.approx(5 / 6)), ("m2", "gold", pytest.approx(4 / 6))]
    assert not [one.name for one in result.tables if one.name in ("alt-test", "accuracy")]


SAYING = Claiming("vantage.report", report_on_a_corpus, beside, file="corpus.yaml")


def on_noise(seed: int) -> Result:
    corpus = made(seed, items=16, people=10, models=2)
    if seed % 2:
        # Answers without an order, of three options.
        options = corpus.judgments.with_columns(pl.col("value").clip(3, 5) - 3)
        instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.labels("no", "maybe", "yes")})
        corpus = Corpus(corpus.items, corpus.raters, options, instrument)
    return SAYING.result(CorpusAnalysis(corpus, None, seed))


def test_noise_claims_nothing() -> None:
    assert claiming(on_noise, range(4)) == {}


@pytest.mark.slow
def test_noise_hardly_ever_claims_anything() -> None:
    assert len(found := claiming(on_noise, range(SEEDS))) <= few(SEEDS), found


def test_what_is_known_of_models_alone_is_no_trait_of_people() -> None:
    corpus = made(1, items=4, people=4, models=1)
    style = pl.when(pl.col("kind").cast(pl.String) == "model").then(pl.lit("scoring")).alias("style")
    analysis = CorpusAnalysis(
        Corpus(corpus.items, corpus.raters.with_columns(style), corpus.judgments, corpus.instruments)
    )
    assert analysis.several is not None
    assert "style" in analysis.several.traits
    rows = groups_by_trait(analysis)
    assert rows is not None
    assert rows["trait"].unique().to_list() == ["group"]


@pytest.mark.slow
def test_few_items_do_not_make_sound_raters_stand_out() -> None:
    for seed in range(3):
        assert "Unusually little agreement with the rest" not in said(
            overview(made(seed, items=8, people=8, signal=1.0))
        )
    result = overview(made(4, items=60, people=8, signal=1.5, against=0))
    careless = result_with_a_careless_rater()
    assert "Unusually little agreement with the rest" not in said(result)
    assert "): p7 (r" in said(careless)
    assert "Unusually little agreement with the rest" in said(careless)


def result_with_a_careless_rater() -> Result:
    """Eight people, of whom the last answers at random."""
    corpus = made(4, items=60, people=8, signal=1.5)
    rng = np.random.default_rng(0)
    drawn = pl.Series(rng.integers(1, 8, len(corpus.judgments)).astype(float))
    value = pl.when(rater="p7").then(drawn).otherwise("value").alias("value")
    result = overview(Corpus(corpus.items, corpus.raters, corpus.judgments.with_columns(value), corpus.instruments))
    check_all(result)
    return result


@pytest.mark.parametrize("options", [("no", "yes"), ("no", "maybe", "yes")])
@pytest.mark.parametrize("inverted", [False, True])
def test_groups_are_compared_by_the_options_that_they_choose(options: tuple[str, ...], inverted: bool) -> None:
    corpus = made(1, trait=2.0, people=20, inverted=inverted)
    last = len(options) - 1
    answers = corpus.judgments.with_columns(
        pl.when(pl.col("value") > 4).then(float(last)).otherwise(0.0).alias("value")
    )
    instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.labels(*options)})
    result = overview(Corpus(corpus.items, corpus.raters, answers, instrument))
    check_all(result)
    shares = dict(
        answers.join(corpus.raters, on="rater").group_by("group").agg((pl.col("value") == last).mean()).iter_rows()
    )
    rows = frame(result, "traits")
    row = (rows if len(options) == 2 else rows.filter(option="yes")).filter(group="a").row(0, named=True)
    assert row["mean"] == pytest.approx(shares["a"], abs=1e-6)
    assert row["estimate"] == pytest.approx(shares["a"] - shares["b"], abs=1e-6)
    verb = f"choose “yes” {'more' if shares['a'] > shares['b'] else 'less'} often"
    assert f"By group, raters with “a” {verb} than raters with “b” on q" in said(result)


@pytest.mark.slow
def test_what_is_planted_is_found_and_told_in_the_right_direction() -> None:
    result = overview(made(1, signal=1.5, trait=1.0, models=2, far=3.0, against=1))
    check_all(result)
    words = said(result)
    assert "Raters agree better than chance about q" in words
    assert "By group, raters with “a” give higher answers than raters with “b”" in words
    assert "On q, further from people than people are from each other: m1 (" in words
    assert "Answers against the rest: p15 (" in words
    turned = overview(made(1, signal=1.5, trait=1.0, models=2, far=3.0, against=1, inverted=True))
    check_all(turned)
    assert "By group, raters with “a” give lower answers than raters with “b”" in said(turned)
    assert "On q, further from people than people are from each other: m1 (" in said(turned)


def test_a_trait_that_does_not_matter_is_said_not_to_be_shown_to() -> None:
    result = overview(made(2, signal=1.5))
    assert "By group, we found no difference between raters with “a” and raters with “b” on q" in said(result)
    assert "would have been seen" in said(result)


@pytest.mark.parametrize(
    ("items", "people", "models"),
    [
        (1, 1, 0),
        (1, 2, 1),
        *(
            pytest.param(*sizes, marks=pytest.mark.slow)
            for sizes in [(1, 5, 0), (5, 1, 0), (5, 1, 1), (3, 2, 2), (40, 0, 1), (40, 0, 3)]
        ),
    ],
)
def test_the_smallest_corpora_have_a_report(tmp_path: Path, items: int, people: int, models: int) -> None:
    corpus = made(items=items, people=people, models=models, signal=1.0)
    corpus.about = About(notes=("One file of three was read.",))
    report = corpus_report(corpus)
    check_all(report.result)
    page = report.write(tmp_path / "out").read_text("utf-8")
    assert page.count(corpus.about.notes[0]) == 1
    assert len(re.findall(r"\d+ items?, \d+ raters?, \d+ judgments?", page)) == 1


def test_a_corpus_without_judgments_says_so(tmp_path: Path) -> None:
    report = corpus_report(small({}, Scale.points(1, 5), ["person"]))
    assert report.result.warnings == ["The corpus has no judgments, so there is nothing to measure yet."]
    assert report.write(tmp_path / "out").is_file()


def test_a_model_that_refused_everything_is_told_and_nothing_breaks(tmp_path: Path) -> None:
    rows: dict[str, list[object]] = {
        "item": ["a", "b"],
        "question": ["q", "q"],
        "rater": ["r0", "r0"],
        "value": [None, None],
        "status": ["refused", "refused"],
    }
    report = corpus_report(small(rows, Scale.points(1, 5), ["model"]))
    assert report.result.warnings == ["r0 gave no value in 2 judgments (mostly refused)."]
    assert report.record.counts["r0"]["refused"] == 2
    assert report.write(tmp_path / "out").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    "scale", [Scale.labels("no", "yes"), Scale.continuous(0, 1), Scale.points(0, 1, anchors={0: HOSTILE, 1: "yes"})]
)
def test_every_kind_of_scale_has_a_picture(tmp_path: Path, scale: Scale) -> None:
    rows: dict[str, list[object]] = {
        "item": ["a", "b", "a", "b"],
        "question": ["q"] * 4,
        "rater": ["r0", "r0", "r1", "r1"],
        "value": [0, 1, 0, 1],
        "status": ["answered"] * 4,
    }
    report = corpus_report(small(rows, scale, ["person", "person"]))
    assert "spectrum" in {figure.name for figure in report.result.figures}
    (given,) = frame(report.result, "questions")["answers"].to_list()
    assert sum(one["votes"] for one in given) == 4
    text = report.write(tmp_path / "out").read_text()
    assert "<img" not in text


def test_the_report_names_excluded_raters_and_counts_nothing_of_them() -> None:
    corpus = demo_corpus()
    out = pl.when(pl.col("rater") == "r9").then(pl.lit("true")).alias("excluded")
    marked = Corpus(corpus.items, corpus.raters.with_columns(out), corpus.judgments, corpus.instruments)
    result = corpus_report(marked).result
    assert frame(result, "excluded")["rater"].to_list() == ["r9"]
    assert frame(result, "questions")["raters"].to_list() == [8, 8, 8]


@pytest.mark.slow
def test_people_are_measured_among_people_and_excluded_ones_are_left_out() -> None:
    plain = overview(made(3, signal=1.0))
    beside = overview(made(3, signal=1.0, models=2))
    assert frame(plain, "alpha")["estimate"].to_list() != []
    with_models = made(3, signal=1.0, models=2)
    people = with_models.filter(kind="person")
    assert frame(beside, "alpha")["estimate"][0] == alpha(people, by="question", ci="none")["estimate"][0]
    out = with_models.raters.with_columns(pl.col("rater").is_in(["p0", "p1"]).alias("excluded"))
    corpus = Corpus(with_models.items, out, with_models.judgments, with_models.instruments)
    result = overview(corpus)
    assert frame(result, "excluded")["rater"].to_list() == ["p0", "p1"]
    kept = people.filter(rater=[f"p{n}" for n in range(2, 16)])
    assert frame(result, "alpha")["estimate"][0] == alpha(kept, by="question", ci="none")["estimate"][0]


def test_disputed_texts_are_those_on_which_two_people_are_furthest_apart() -> None:
    corpus = made(5, signal=1.0, items=20, people=6)
    found = frame(overview(corpus), "divided")
    apart = {}
    for (item,), part in corpus.judgments.group_by("item"):
        values = part["value"].to_list()
        pairs = [abs(x - y) / 6 for n, x in enumerate(values) for y in values[n + 1 :]]
        apart[item] = np.mean(pairs)
    assert found["disagreement"].to_list() == pytest.approx(sorted(apart.values(), reverse=True)[: len(found)])
    assert found["text"][0] == f"Sentence {found['item'][0][1:]}."
    assert sum(one["votes"] for one in found["answers"][0]) == 6


def test_answers_without_an_order_are_apart_or_not() -> None:
    corpus = made(5, items=20, people=7)
    named = Instrument.of_questions("mine", "Mine", {"q": Scale.labels(*"abcdefgh")})
    result = overview(Corpus(corpus.items, corpus.raters, corpus.judgments, named))
    check_all(result)
    small = frame(result, "traits").filter(group="b")
    assert (small["raters"].unique().to_list(), small["p"].count()) == ([3], 0), "described, and not tested"
    found = frame(result, "divided")
    for row in found.iter_rows(named=True):
        values = corpus.judgments.filter(item=row["item"])["value"].to_list()
        assert row["disagreement"] == pytest.approx(
            np.mean([x != y for n, x in enumerate(values) for y in values[n + 1 :]])
        )


@pytest.mark.slow
def test_people_are_sharpened_by_a_model_that_judged_more() -> None:
    corpus = made(3, items=60, people=10, signal=1.0, models=2)
    assert not any(section.title == "People and models together" for section in overview(corpus).sections)
    asked = corpus.items["item"][:25].implode()
    people = corpus.raters.filter(kind="person")["rater"].implode()
    part = corpus.filter(~pl.col("rater").is_in(people) | pl.col("item").is_in(asked))
    result = overview(part, seed=1)
    check_all(result)
    rows = frame(result, "together")
    assert rows["judged_by"].to_list() == ["people", "model", "both"] * (len(rows) // 3)
    assert rows["rater"].n_unique() == 2
    alone = alpha(part, powered_by=rows["rater"][0], seed=1)
    mine = rows.filter(pl.col("rater") == rows["rater"][0], pl.col("what").str.starts_with("alpha"))
    assert mine["estimate"].to_list() == alone["estimate"].to_list()
    assert any(figure.options.get("panel") for figure in result.figures)
    assert "additional label" in said(result) or "adds nothing" in said(result)


@pytest.mark.slow
def test_methods_and_bibliography_name_what_was_run(tmp_path: Path) -> None:
    report = corpus_report(made(signal=1.0, models=1))
    report.write(tmp_path / "out")
    methods = " ".join(report.result.methods)
    assert "Krippendorff's alpha at ordinal level" in methods
    assert "95 % intervals over items and raters" in methods
    bib = (tmp_path / "out" / "references.bib").read_text("utf-8")
    assert "@book{krippendorff2018" in bib
    assert "calderon2025" in bib


@pytest.mark.slow
def test_a_large_difference_is_seen_among_many_questions() -> None:
    rng, people = np.random.default_rng(0), [f"p{n}" for n in range(60)]
    side = ["a", "b"] * 30
    rows = [
        (
            f"i{item}",
            f"q{question}",
            rater,
            float(np.clip(round(rng.normal(6.5 if (group, question) == ("a", 3) else 4)), 1, 9)),
        )
        for item in range(8)
        for question in range(24)
        for rater, group in zip(people, side, strict=True)
    ]
    corpus = Corpus(
        pl.DataFrame({"item": [f"i{n}" for n in range(8)], "text": [f"Text {n}." for n in range(8)]}),
        pl.DataFrame({"rater": people, "kind": "person", "side": side}),
        pl.DataFrame(rows, schema=["item", "question", "rater", "value"], orient="row"),
        Instrument.of_questions("many", "Many", {f"q{n}": Scale.points(1, 9) for n in range(24)}),
    )
    told = next(section for section in overview(corpus).sections if section.title == "Who judges differently?")
    assert "By side, raters with “a” give higher answers than raters with “b” on q3" in told.findings[0].text


def test_people_who_were_asked_again_are_counted_once() -> None:
    demo = demo_corpus()
    twice = demo.add(demo.judgments.filter(question="trust").with_columns(sample=pl.lit(1, pl.Int32)))
    (caveat,) = overview(twice).warnings
    assert caveat == "This report leaves out 247 answers that people gave to items they had judged before."
    once, again = (disagreements(corpus).sort("item", "question") for corpus in (demo, twice))
    assert once.equals(again)


def test_seats_are_not_called_people() -> None:
    demo = demo_corpus()
    seats = Corpus(demo.items, demo.raters.with_columns(kind=pl.lit("slot")), demo.judgments, demo.instruments[0])
    told = overview(seats)
    assert "Some raters are seats that different people may have taken" in told.warnings[0]
    assert "(9 seats)" in told.sections[1].parts[0].caption


def test_the_distance_of_a_model_stands_beside_that_of_two_people() -> None:
    corpus = made(6, signal=1.0, items=10, people=5, models=1)
    row = frame(overview(corpus), "near-people").row(0, named=True)
    people, model = [], []
    for _, part in corpus.judgments.group_by("item"):
        values = part.filter(pl.col("rater").str.starts_with("p"))["value"].to_list()
        own = part.filter(rater="m0")["value"][0]
        people.append(np.mean([abs(x - y) / 6 for n, x in enumerate(values) for y in values[n + 1 :]]))
        model.append(np.mean([abs(own - x) / 6 for x in values]))
    assert row["people"] == pytest.approx(np.mean(people))
    assert row["model"] == pytest.approx(np.mean(model))
    assert row["difference"] == pytest.approx(np.mean(model) - np.mean(people))
