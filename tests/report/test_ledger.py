"""The ledger of claims: what may be said, of all kinds of raters and traits, and of nothing at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.often import times
from tests.report.noise import Claiming, few
from tests.report.truth import KINDS, check_all, check_intervals, findings, of_every_kind
from vantage import Corpus, Instrument, Scale
from vantage.measures import compare, explain
from vantage.measures.presentation import Against, Extremes, Rule
from vantage.report import beside
from vantage.report import overview as report_on_a_corpus
from vantage.report.beside import CorpusAnalysis
from vantage.report.ledger import LEVEL, Claim, ledger_frame, p_value, settle
from vantage.report.overview import overview
from vantage.report.parts import Result
from vantage.report.recipe import Recipe, Show
from vantage.report.sentences import Words, decide, statement
from vantage.studies import appraisals, context, perseval, stereomap
from vantage.studies.stereomap.groups import human_clusters
from vantage.studies.stereomap.places import recovered
from vantage.view.comparing import compared

RAISED = Against(0.0, above="Higher: {rows}", below="Lower: {rows}", within="Not told apart: {rows}")


def drawn(rng: np.random.Generator, count: int, effect: float = 0.0, error: float = 0.1, **about: Any) -> list[Claim]:
    """So many estimates with their 95 % intervals, of which the first has an effect."""
    claims = []
    for row, estimate in enumerate(rng.normal(0, error, count) + effect * (np.arange(count) == 0)):
        low, high = estimate - 1.959964 * error, estimate + 1.959964 * error
        p = p_value(estimate, low, high, 0.0)
        ends = {"low": low, "high": high, "low_alone": low, "high_alone": high}
        claims.append(Claim("against", float(estimate), reference=0.0, p=p, row=row, **ends, **about))
    return claims


numbers = st.floats(-5, 5).filter(lambda value: abs(value) > 1e-6)


@given(
    st.lists(
        st.tuples(numbers, st.floats(0.01, 3), st.floats(0.01, 3), st.floats(1e-9, 1) | st.none(), st.integers(0, 2)),
        min_size=1,
        max_size=9,
    ),
    st.integers(3, 400),
)
def test_interval_and_p_value_of_a_claim_cannot_disagree(rows: list[tuple[Any, ...]], units: int) -> None:
    frame = pl.DataFrame(
        [{"estimate": e, "low": e - a, "high": e + b, "p": p, "of": str(f)} for e, a, b, p, f in rows],
        infer_schema_length=None,
        schema_overrides={"p": pl.Float64},
    ).with_columns(units=pl.lit(units))
    rule = Against(0.0, above="Higher: {rows}", below="Lower: {rows}", within="Not told apart: {rows}", p="p")
    [claims] = settle([statement(rule, frame, Words(("of",), table="t"), family="of {of}").claims])
    many = Counter(claim.family for claim in claims)
    for claim, (_, below, above, own, _) in zip(claims, rows, strict=True):
        assert claim.p is not None
        assert claim.estimate is not None
        assert claim.low is not None
        assert claim.high is not None
        assert claim.p_family == pytest.approx(min(1.0, claim.p * many[claim.family]))
        assert own is None or claim.p >= own
        outside = not claim.low - 1e-9 <= 0 <= claim.high + 1e-9
        assert outside == claim.claims == ((claim.p_family or 0.0) < LEVEL)
        assert claim.low <= claim.estimate - below + 1e-9
        assert claim.high >= claim.estimate + above - 1e-9
        assert claim.seen is None or claim.seen > 0


def test_a_test_that_sees_nothing_and_units_that_are_all_alike_leave_no_contradiction() -> None:
    """An interval without zero beside p = 1, and an error of zero with which everything "would have been seen"."""
    row = {"of": "x", "estimate": 0.4, "low": 0.3, "high": 0.7, "p": 1.0}
    rule = replace(RAISED, p="p")
    [claim] = settle([statement(rule, pl.DataFrame([row]), Words(("of",), table="t")).claims])[0]
    assert claim.verdict == "within"
    assert (claim.low or 0.0) < 0 < (claim.high or 0.0)
    assert (claim.seen or 0.0) > 0.4
    alike = pl.DataFrame([{"of": name, "estimate": 1.0, "low": 1.0, "high": 1.0} for name in "xyz"])
    ranked = Extremes(most="Best: {rows}", alike="It is not clear which is best ({range})")
    (finding,) = decide([statement(ranked, alike, Words(("of",)))])[0]
    assert finding.text == "It is not clear which is best (1.00 each)."


def simulated(seed: int, effect: float = 0.0) -> list[Claim]:
    """A report of five research questions of one to twelve comparisons; only the second has an effect."""
    rng = np.random.default_rng(seed)
    rules = [drawn(rng, many, effect * (place == 1), family=f"f{place}") for place, many in enumerate((1, 3, 12, 2, 5))]
    return [claim for one in settle(rules) for claim in one]


def test_of_noise_each_family_claims_in_five_reports_of_a_hundred_and_few_open_with_a_claim() -> None:
    reports = [simulated(seed) for seed in range(300)]
    for family in {claim.family for claim in reports[0]}:
        claiming = sum(any(one.claims for one in report if one.family == family) for report in reports)
        assert claiming <= 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95), family
    opening = sum(any(one.opens for one in report) for report in reports)
    assert opening <= 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95)
    assert all(one.claims for report in reports for one in report if one.opens)


def test_what_could_have_been_seen_is_found_four_times_in_five_whatever_else_is_asked() -> None:
    size = next(claim for claim in simulated(0) if claim.family == "f1").seen
    assert size is not None
    among = [next(one for one in simulated(seed, size) if one.family == "f1") for seed in range(200)]
    assert 0.74 <= np.mean([one.claims for one in among]) <= 0.88
    strong = [simulated(seed, 2 * size) for seed in range(40)]
    assert np.mean([any(one.opens for one in report) for report in strong]) > 0.95


def test_other_families_do_not_change_what_a_family_says_and_exploratory_claims_open_nothing() -> None:
    rng = np.random.default_rng(3)
    mine = drawn(rng, 4, 0.5, family="mine")
    alone = settle([mine])[0]
    beside = settle([mine, *(drawn(rng, 30, family=f"other {n}") for n in range(9))])[0]
    assert [(one.rule, one.low, one.p_family) for one in alone] == [(one.rule, one.low, one.p_family) for one in beside]
    explored = settle([drawn(rng, 4, 5.0, family="mine", exploratory=True)])[0]
    assert explored[0].claims
    assert not any(one.opens for one in explored)
    table = pl.DataFrame([{"of": "x", "estimate": 1.0, "low": 0.5, "high": 1.5}])
    (finding,) = decide([statement(RAISED, table, Words(("of",)), family="mine", exploratory=True)])[0]
    assert finding.text == "Exploratory: Higher: x (1.00, 95 % CI 0.50 to 1.50)."


def test_a_family_opens_a_report_only_after_the_one_that_is_declared_before_it() -> None:
    rng = np.random.default_rng(5)
    strong = {effect: drawn(rng, 3, effect, family=f"f{effect}") for effect in (0.0, 5.0)}
    for effect, first in strong.items():
        second = [replace(claim, family="second", after=first[0].family) for claim in drawn(rng, 2, 5.0)]
        third = [replace(claim, family="third", after="second") for claim in drawn(rng, 2, 5.0)]
        settled = settle([first, second, third])
        assert [any(one.opens for one in claims) for claims in settled] == [bool(effect)] * 3
        assert all(any(one.claims for one in claims) for claims in settled[1:]), "what is said of it stays the same"
    # Where the data do not answer the first question, the second one is the first.
    alone = settle([[replace(claim, family="second", after="first") for claim in drawn(rng, 2, 5.0)]])
    assert any(one.opens for one in alone[0])


def test_a_hierarchy_hardly_ever_opens_a_report_on_noise_and_misses_nothing_behind_a_strong_answer() -> None:
    opened, behind = 0, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        drafts = [drawn(rng, many, family=f"f{place}") for place, many in enumerate((1, 3, 12))]
        after = [[replace(claim, after="f0") for claim in one] for one in drafts[1:]]
        opened += any(one.opens for claims in settle([drafts[0], *after]) for one in claims)
        first = drawn(rng, 1, 1.0, family="f0")
        planted = [replace(claim, after="f0") for claim in drawn(rng, 3, 0.5, family="f1")]
        behind += any(one.opens for one in settle([first, planted, after[1]])[1])
    assert opened <= 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95)
    assert behind >= 0.9 * 300


def test_the_ledger_is_a_table_of_one_row_for_each_statement() -> None:
    row = {"model": "m", "question": "hate", "estimate": 0.8, "low": 0.7, "high": 0.9, "floor": 0.83}
    row |= {"floor_rater": "always no", "ceiling": 0.9, "skill": -0.43}
    words = Words(("model",), estimand="accuracy", population="40 items", table="accuracy")
    asked = statement(RAISED, pl.DataFrame([row]), words, family="Is {model} accurate?")
    frame = ledger_frame(claim for one in settle([asked.claims]) for claim in one)
    stored = frame.row(0, named=True)
    assert stored["family"] == "Is m accurate?"
    assert (stored["verdict"], stored["estimand"], stored["population"]) == ("above", "accuracy", "40 items")
    assert (stored["floor"], stored["floor_rater"], stored["ceiling"], stored["skill"]) == (
        0.83,
        "always no",
        0.9,
        -0.43,
    )
    assert (stored["table"], stored["row"], stored["question"]) == ("accuracy", 0, "hate")


def test_a_rater_that_never_reads_is_not_said_to_do_better_than_one() -> None:
    recipe = Recipe.bundled("vantage.report", report_on_a_corpus, beside, file="corpus.yaml")
    entry = next(entry for section in recipe.sections for entry in section.show if entry.name == "accuracy")
    known = {"question": "hate", "metric": "accuracy", "estimate": 0.83, "floor": 0.83, "floor_rater": "always no"}
    rows = [
        {**known, "rater": "blind", "skill": 0.0, "skill_low": -0.2, "skill_high": 0.2, "ceiling": 0.9},
        {**known, "rater": "good", "skill": 0.8, "skill_low": 0.5, "skill_high": 1.1, "ceiling": 0.9},
    ]
    rules = entry.rules or []
    (family, *_), *_ = entry.asked(recipe.families, "", 1, {})
    asked = statement(rules[0], pl.DataFrame(rows), Words(columns=entry.shown, table="t"), family=family)
    better, no_better = (finding.text for finding in decide([asked])[0])
    assert better == (
        "On hate, better than a rater that never reads: good (accuracy: +80 % of the way to a person, "
        "95 % CI +50 % to +110 %)."
    )
    assert no_better.startswith(
        "On hate, not shown to be better than a rater that never reads: blind (accuracy: 0 % of the way"
    )
    assert {claim.family for claim in asked.claims} == {
        f"Does {name} do better than a rater that never reads?" for name in ("blind", "good")
    }


# What was wrong once.


def asked_by(module: Any, function: str, name: str = "", place: int = 0) -> tuple[Rule, Show, str]:
    """A rule of a study with its entry and its research question."""
    recipe = _recipe(module)
    entries = [entry for section in recipe.sections for entry in section.show if entry.function == function]
    entry = next(entry for entry in entries if not name or entry.name == name)
    rules = entry.rules or []
    return rules[place], entry, entry.asked(recipe.families, "", len(rules), {})[place][0]


def _recipe(module: Any) -> Recipe:
    from vantage.documents import Document

    document = Document.bundled(module.__name__, "recipe.yaml")
    recipe = document.validate(Recipe, {"title": "?"})
    assert recipe is not None
    return recipe


def told(module: Any, function: str, rows: list[dict[str, Any]], place: int = 0, **values: Any) -> list[str]:
    rule, entry, family = asked_by(module, function, place=place)
    words = Words(entry.keys, entry.symbol, entry.shown, values=values, table="t")
    asked = statement(rule, pl.DataFrame(rows, infer_schema_length=None), words, family=family)
    return [finding.text for finding in decide([asked])[0]]


def test_reasons_that_are_more_useful_are_said_to_be() -> None:
    """ChatGPT's reasons are more useful (+0.12, p = .0015); one correction over the page said p = .187."""
    rows = [
        {"source": source, "criterion": criterion, "estimate": 0.0, "low": -0.07, "high": 0.07, "p": 1.0}
        for source in ("FLAN-T5", "ChatGPT", "Alpaca", "Dolly")
        for criterion in ("factuality", "relevance", "consistency", "usefulness")
    ]
    rows[7] |= {"estimate": 0.12, "low": 0.06, "high": 0.19, "p": 0.0015}
    higher, *_ = told(appraisals, "evaluation_differences", rows)
    assert higher.startswith(
        "People score the reasons of models higher than the experts': ChatGPT in usefulness (+0.12"
    )


def test_a_planted_gain_with_context_is_said() -> None:
    """Accuracy from .65 to .97, F1 +.26 [.11, .43], was not told apart beside nine other comparisons."""
    rows = [
        {
            "who": f"{task}, {model}",
            "gain": 0.26,
            "difference_low": 0.11,
            "difference_high": 0.43,
            "difference_p": 0.002,
        }
        for task in ("sarcasm", "politeness")
        for model in ("planted", "other")
    ]
    (one,) = told(context, "effects", rows)
    assert one.startswith("With contexts written for the original label, F1 is higher than without for")


def test_rich_people_at_four_in_every_run_are_not_passed_over() -> None:
    rows = [
        {"source": "m", "group": "rich people", "apart": 4.0, "apart_low": None, "apart_high": None},
        {"source": "m", "group": "bankers", "apart": 1.99, "apart_low": 1.9, "apart_high": 2.1},
        {"source": "m", "group": "nurses", "apart": -1.0, "apart_low": -1.1, "apart_high": -0.9},
    ]
    texts = told(stereomap, "groups", rows, x_axis="competence", y_axis="warmth")
    assert texts == [
        "Highest is rich people (difference = 4.00), but no ranking can be tested, since there is no interval for "
        "rich people."
    ]


def test_each_trait_told_alone_speaks() -> None:
    """Each trait told alone lowers F1 by .12 to .15, and only rows of other kinds had a p value to speak with."""
    rows = [
        {"corpus": "c", "what": "trait", "rater": f"m: {trait} alone", "strictly": gain, "difference": gain,
         "low": gain - 0.07, "high": gain + 0.07, "p": p, "than": "the same rater that does not know who answers"}
        for trait, gain, p in (("gender", -0.15, 0.001), ("age", -0.12, None))
    ]  # fmt: skip
    rows.append(
        {**rows[0], "what": "history", "rater": "m: history", "strictly": 0.01, "low": -0.1, "high": 0.12, "p": 0.8}
    )
    worse, apart = told(perseval, "bought", rows)
    assert "is met worse by m: gender alone in c (difference = −0.15" in worse
    assert "m: age alone in c" in worse
    assert "would have been seen" in apart


def random_map(seed: int) -> pl.DataFrame:
    """What a map without rhyme or reason, which every run repeats, has in common with people in 2002."""
    rng = np.random.default_rng(seed)
    clusters = list(human_clusters())
    items = [f"g{n}" for n in range(5 * len(clusters))]
    reference = {item: clusters[n % len(clusters)] for n, item in enumerate(items)}
    source = SimpleNamespace(name="m", items=items, points=rng.normal(3, 1, (len(items), 2)), cluster_of={})
    return recovered(SimpleNamespace(usual=True, reference=reference, sources=[source]))  # type: ignore[arg-type]


def test_random_maps_hardly_ever_find_again_what_people_saw() -> None:
    """Tested over runs, 76 % of random maps did."""
    rule, entry, family = asked_by(stereomap, "recovered")
    again = 0
    for seed in range(200):
        asked = statement(rule, random_map(seed), Words(entry.keys, columns=entry.shown, table="t"), family=family)
        again += any(claim.claims for claim in settle([asked.claims])[0])
    assert again <= 200 * 0.05 + 2 * np.sqrt(200 * 0.05 * 0.95)


# Raters of every kind, and traits of every scale, through the report on a corpus.


def harness(seed: int, planted: str = "", *, items: int = 24, people: int = 18, signal: float = 1.0) -> Corpus:
    """People with a nominal, an ordered and a numeric trait, of which one may matter, and models of every kind."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, signal, items)
    age = rng.permutation(np.linspace(20, 70, people)).round()
    place = rng.permutation(np.arange(people) % 3)
    home = rng.permutation(np.arange(people) % 2)
    shifts = {"home": home, "band": place - 1, "age": (age - 45) / 25, "": np.zeros(people)}
    shift = shifts[planted] + rng.normal(0, 0.2, people)
    answers = 4 + truth + shift[:, None] + rng.normal(0, 1, (people, items))
    codes = np.clip(np.rint(answers), 1, 7)
    by = of_every_kind(codes, np.arange(1, 8), home == 1, rng)
    raters = [
        {"rater": f"p{n}", "kind": "person", "home": ("coast", "hills")[home[n]], "age": float(age[n]),
         "band": ("18-29", "30-44", "45-60")[place[n]]}
        for n in range(people)
    ]  # fmt: skip
    raters += [{"rater": name, "kind": "model"} for name in KINDS]
    values = {f"p{n}": codes[n] for n in range(people)} | {name: by[name] for name in KINDS}
    rows = [
        {"item": f"i{n}", "question": "q", "rater": rater, "value": float(value)}
        for rater, of_items in values.items()
        for n, value in enumerate(of_items)
    ]
    texts = pl.DataFrame({"item": [f"i{n}" for n in range(items)], "text": [f"Sentence {n}." for n in range(items)]})
    instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.points(1, 7)})
    return Corpus(texts, pl.DataFrame(raters, infer_schema_length=None), pl.DataFrame(rows), instrument)


def checked(corpus: Corpus) -> Result:
    result = overview(corpus)
    check_all(result)
    check_intervals(result)
    return result


def test_raters_of_every_kind_have_a_report_without_contradictions() -> None:
    result = checked(harness(1, "home"))
    texts = " ".join(finding.text for finding in findings(result))
    assert "By home, raters with “coast” give lower answers than raters with “hills”" in texts
    by_trait = {claim.family for claim in result.ledger if claim.table == "traits"}
    assert len(by_trait) == 3, by_trait
    opening = [finding.text for finding in result.findings]
    assert "The same answer to every text was given by constant on q (“4”, 24 times)." in opening
    verdicts = {claim.name: claim.verdict for claim in result.ledger if claim.table == "near-people"}
    assert set(verdicts) == {f"q ({name})" for name in KINDS}
    assert verdicts["q (random)"] == "above"


def test_a_trait_has_one_p_value_in_explain_compare_report_and_explorer() -> None:
    """Of people who judged different texts, some of which only one group judged."""
    whole = harness(1, "home")
    kept = whole.judgments.filter(pl.Series(np.random.default_rng(0).random(len(whole.judgments)) < 0.4))
    corpus = Corpus(whole.items, whole.raters, kept, whole.instruments)
    people, (question,) = corpus.filter(kind="person"), corpus.questions
    claims = by_groups(corpus)
    for trait in ("home", "band", "age"):
        asked = compare(people, between=trait, by="question")["p"][0]
        explained = explain(people, traits=trait, by="question").filter(term=trait, versus="clearest difference")
        (reported,) = (claim.p for claim in claims if claim.family == f"Do people judge differently by {trait}?")
        assert asked > 0
        assert [explained["p"][0], reported] == pytest.approx([asked, asked], rel=1e-12)
    shown = compared(corpus, question, "home=coast", "home=hills", 3)
    assert shown["p"] == pytest.approx(compare(people, between="home", by="question")["p"][0], rel=1e-12)
    for band in ("18-29", "30-44"):
        values = [band, "45-60"]
        pair = compare(people, between="band", values=values, by="question")["p"][0]
        shown = compared(corpus, question, f"band={band}", "band=45-60", 3)
        assert shown["p"] == pytest.approx(pair, rel=1e-12)


def test_who_gives_the_usual_answer_throughout_is_not_accused() -> None:
    """Of people who nearly all say no, one who always does says nothing; a model that always says yes does."""
    rng = np.random.default_rng(0)
    rows = [
        {"item": f"i{n}", "question": "q", "rater": rater, "value": float(value)}
        for rater in ("a", "b", "c", "no", "yes")
        for n, value in enumerate({"no": np.zeros(20), "yes": np.ones(20)}.get(rater, rng.random(20) < 0.1))
    ]
    raters = pl.DataFrame({"rater": ["a", "b", "c", "no", "yes"], "kind": ["person"] * 4 + ["model"]})
    items = pl.DataFrame({"item": [f"i{n}" for n in range(20)], "text": [f"Sentence {n}." for n in range(20)]})
    instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.labels("no", "yes")})
    analysis = CorpusAnalysis(Corpus(items, raters, pl.DataFrame(rows), instrument))
    assert report_on_a_corpus.constant(analysis)["rater"].to_list() == ["yes"]


def by_groups(corpus: Corpus) -> list[Claim]:
    """What the section on groups claims."""
    recipe = Claiming("vantage.report", report_on_a_corpus, beside, file="corpus.yaml")
    wanted = [section for section in recipe.recipe.sections if section.title == "Who judges differently?"]
    recipe.recipe = recipe.recipe.model_copy(update={"sections": wanted})
    return list(recipe.result(CorpusAnalysis(corpus)).ledger)


@pytest.mark.parametrize("planted", ["", "home", "band", "age"])
@pytest.mark.parametrize("seeds", [3, pytest.param(times(200, 80), marks=pytest.mark.slow)])
def test_traits_that_mean_nothing_are_hardly_ever_said_to_matter_and_planted_ones_are(seeds: int, planted: str) -> None:
    claimed, opened = Counter[str](), 0
    for seed in range(seeds):
        claims = by_groups(harness(seed, planted))
        claimed.update({claim.family for claim in claims if claim.claims})
        opened += any(claim.opens for claim in claims)
    mine = f"Do people judge differently by {planted}?"
    assert not planted or claimed[mine] >= 0.8 * seeds, claimed
    # What was dealt out at random may go with what was planted.
    assert planted or all(count <= max(1, few(seeds)) for count in claimed.values()), claimed
    assert planted or opened <= 0.1 * seeds + 1


def test_an_analysis_of_people_without_traits_has_no_section_on_groups() -> None:
    corpus = harness(2)
    bare = Corpus(corpus.items, corpus.raters.select("rater", "kind"), corpus.judgments, corpus.instruments)
    from vantage.report.groups import traits

    assert traits(CorpusAnalysis(bare)) is None
