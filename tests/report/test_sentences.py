from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as student

from tests.report.truth import check
from vantage.measures.presentation import AGREEMENT, Against, Column, Extremes, Fact
from vantage.measures.variation.spread import ENTROPY_VIEW, entropy
from vantage.report.ledger import p_value, settle
from vantage.report.parts import Finding
from vantage.report.sentences import Words, _units, decide, statement

CHANCE = Against(
    0.0,
    above="Raters agree better than chance[ about {rows}]",
    within="Raters agree no better than chance[ about {rows}]",
)


def said(rule: Any, rows: list[dict[str, Any]], **words: Any) -> list[Finding]:
    return decide([statement(rule, pl.DataFrame(rows, infer_schema_length=None), Words(**words))])[0]


def row(name: str, estimate: float | None, reach: float | None = None) -> dict[str, Any]:
    ends = (None, None) if estimate is None or reach is None else (estimate - reach, estimate + reach)
    return {"question": name, "estimate": estimate, "low": ends[0], "high": ends[1]}


def test_words_follow_the_interval() -> None:
    found = said(CHANCE, [row("trust", 0.5, 0.1), row("skill", 0.02, 0.1)], by=("question",), symbol="α")
    assert [one.text for one in found] == [
        "Raters agree better than chance about trust (α = 0.50, 95 % CI 0.39 to 0.61).",
        "Raters agree no better than chance about skill (α = 0.02, 95 % CI −0.09 to 0.13); "
        "α = 0.16 would have been seen.",
    ]


def test_nothing_is_said_of_what_is_not_known_and_what_has_no_interval_is_said_to_be_untested() -> None:
    (untested,) = said(CHANCE, [row("trust", None), row("skill", 0.9)], by=("question",))
    assert untested.text == "Not tested, since there is no interval: skill (0.90)."
    assert said(Fact("{question} has {estimate}."), [row("trust", None)]) == []


def test_a_superlative_ranks_every_row_and_one_without_an_interval_keeps_it_open() -> None:
    rule = Extremes("Most like people is {rows}", least="Least like people is {rows}")
    rows = [row("steady", 1.00), row("good", 0.94, 0.02), row("poor", 0.30, 0.1)]
    (open_,) = said(rule, rows, by=("question",), symbol="ρ")
    assert open_.text == (
        "Highest is steady (ρ = 1.00), but no ranking can be tested, since there is no interval for steady."
    )
    assert not any(claim.claims for claim in open_.evidence)
    assert [one.text for one in said(rule, rows[1:], by=("question",))] == [
        "Most like people is good (0.94, 95 % CI 0.92 to 0.96)."
    ]


def test_a_single_row_without_a_name_needs_no_about() -> None:
    rows = [{"estimate": 0.5, "low": 0.4, "high": 0.6}]
    assert said(CHANCE, rows)[0].text == "Raters agree better than chance (0.50, 95 % CI 0.40 to 0.60)."


def test_most_and_least_need_a_ranking_that_the_data_support() -> None:
    rule = Extremes(
        "Raters agree most about {rows}", "They agree least about {rows}", "Nothing tells them apart ({range})"
    )
    rows = [row("a", 0.8, 0.05), row("b", 0.5, 0.05), row("c", 0.2, 0.05)]
    assert [one.text for one in said(rule, rows, by=("question",))] == [
        "Raters agree most about a (0.80, 95 % CI 0.75 to 0.85).",
        "They agree least about c (0.20, 95 % CI 0.15 to 0.25).",
    ]
    near = [row("a", 0.8, 0.05), row("b", 0.79, 0.05), row("c", 0.2, 0.05)]
    assert [one.text for one in said(rule, near, by=("question",))] == [
        "They agree least about c (0.20, 95 % CI 0.15 to 0.25)."
    ]
    wide = [row("a", 0.8, 0.5), row("b", 0.5, 0.5), row("c", 0.4, 0.5)]
    assert said(rule, wide, by=("question",))[0].text == (
        "Nothing tells them apart (0.40 to 0.80); a lead of 1.11 would have been seen."
    )
    assert said(rule, [row("a", 0.8, 0.01)], by=("question",)) == []
    alike = [row("a", 0.801, 0.5), row("b", 0.802, 0.5)]
    assert said(rule, alike, by=("question",))[0].text.startswith("Nothing tells them apart (0.80 each);")


def test_entropies_of_other_numbers_of_answers_are_not_compared() -> None:
    rng = np.random.default_rng(0)
    asked = [(i, q, r) for i in range(30) for q, raters in (("p", 9), ("q", 2), ("r", 2)) for r in range(raters)]
    frame = pl.DataFrame(asked, schema=["item", "question", "rater"], orient="row")
    frame = frame.with_columns(value=pl.Series(rng.integers(0, 5, len(asked))))
    frame = frame.with_columns(
        value=pl.when(pl.col("question") == "r")
        .then((pl.col("item") == pl.col("rater")).cast(pl.Int64))
        .otherwise("value")
    )
    rows = entropy(frame, by="question").to_dicts()
    assert [row["answers"] for row in rows] == [9, 2, 2]
    (found,) = said(ENTROPY_VIEW.says[0], rows, by=("question",))
    assert found.text.startswith("With 2 answers per item, they are spread most widely for q")


def test_two_groups_are_named_in_their_own_sentences() -> None:
    rule = Against(0.0, "{first} are above {second}[ about {rows}]", within="{first} equals {second}", value="d", p="p")
    rows = [
        {"question": "x", "first": "men", "second": "women", "d": 1.0, "p": 1e-6},
        {"question": "y", "first": "men", "second": "women", "d": 0.5, "p": 1e-5},
        {"question": "x", "first": "old", "second": "young", "d": 0.7, "p": 1e-4},
    ]
    texts = [one.text for one in said(rule, rows, by=("question",))]
    assert texts == [
        "men are above women about x (1.00, p < .001) and y (0.50, p < .001).",
        "old are above young about x (0.70, p < .001).",
    ]


def test_comparisons_are_corrected_within_their_family_and_not_beyond() -> None:
    alone = row("trust", 0.20, 0.18)
    assert "better than chance" in said(CHANCE, [alone], by=("question",))[0].text
    many = [alone, *(row(f"q{n}", 0.0, 0.2) for n in range(20))]
    (one,) = said(CHANCE, many, by=("question",))
    assert "no better than chance about trust (0.20, 95 % CI −0.08 to 0.48)" in one.text
    assert "18 others; an effect of 0.36 to 0.40 would have been seen" in one.text
    frames = [pl.DataFrame([one]) for one in many]
    apart = [statement(CHANCE, one, Words(("question",)), family=f"q{n}") for n, one in enumerate(frames)]
    assert "Raters agree better than chance about trust (0.20, 95 % CI 0.02 to 0.38)" in decide(apart)[0][0].text


def test_a_family_may_be_one_for_each_value_of_a_column() -> None:
    rows = [{"trait": f"t{n}", "estimate": 0.2, "low": 0.02, "high": 0.38} for n in range(6)]
    asked = statement(CHANCE, pl.DataFrame(rows), Words(("trait",)), family="Does {trait} matter?")
    assert {claim.family for claim in asked.claims} == {f"Does t{n} matter?" for n in range(6)}
    assert all(claim.claims for claim in settle([asked.claims])[0])


def test_a_test_that_is_stricter_than_its_interval_widens_it() -> None:
    frame = pl.DataFrame({"rater": ["m"], "estimate": [-0.09], "low": [-0.17], "high": [-0.02], "p": [0.12]})
    rule = Against(0.0, above="further: {rows}", below="closer: {rows}", within="cannot be told apart: {rows}", p="p")
    (one,) = decide([statement(rule, frame, Words(by=("rater",)))])[0]
    assert one.text == (
        "cannot be told apart: m (−0.09, 95 % CI −0.17 to 0.02); an effect of 0.16 would have been seen."
    )


def test_rows_without_a_p_value_of_their_own_speak_by_their_interval() -> None:
    frame = pl.DataFrame(
        {"rater": ["m", "n"], "estimate": [-0.12, -0.3], "low": [-0.2, -0.4], "high": [-0.05, -0.2], "p": [None, 0.001]}
    )
    rule = Against(0.0, above="better: {rows}", below="worse: {rows}", p="p")
    (one,) = decide([statement(rule, frame, Words(by=("rater",)))])[0]
    assert one.text.startswith("worse: n (−0.30")
    assert "m (−0.12" in one.text


def test_noise_is_told_as_a_finding_in_at_most_five_of_a_hundred_reports() -> None:
    assert sum(noise(seed) for seed in range(400)) <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05 * 0.95)


def noise(seed: int) -> int:
    """1 where a report on nothing but noise claims something."""
    rng = np.random.default_rng(seed)
    statements = []
    for count in (1, 3, 8):
        estimates = rng.normal(0, 0.1, count)
        rows = [row(f"q{n}", float(one), 0.196) for n, one in enumerate(estimates)]
        words = Words(("question",), table=f"t{count}")
        statements += [statement(rule, pl.DataFrame(rows), words) for rule in AGREEMENT]
    found = [one for part in decide(statements) for one in part]
    for one in found:
        check(one)
    claimed = [e for one in found for e in one.evidence if e.rule.endswith((":above", ":below", ":most", ":least"))]
    return int(bool(claimed))


def test_a_reference_can_be_a_column_and_a_value_a_share() -> None:
    rule = Against("chance", "{rows} are above chance", value="share", low="l", high="h")
    rows = [{"model": "m", "share": 0.8, "l": 0.7, "h": 0.9, "chance": 0.5}]
    words = {"by": ("model",), "columns": {"share": Column(percent=True, digits=0)}}
    assert said(rule, rows, **words)[0].text == "m (80 %, 95 % CI 70 % to 90 %) are above chance."


def test_hostile_names_stay_plain_text() -> None:
    found = said(CHANCE, [row("{x} [y] <b>", 0.5, 0.1)], by=("question",))
    assert "{x} [y] <b>" in found[0].text


def test_the_p_value_belongs_to_the_interval() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        estimate, below, above = rng.normal(), *rng.uniform(0.1, 2, 2)
        reference = rng.normal()
        p = p_value(estimate, estimate - below, estimate + above, reference)
        assert p is not None
        assert (p < 0.05) == (not estimate - below <= reference <= estimate + above)


def test_the_p_value_has_one_degree_of_freedom_less_than_there_are_units() -> None:
    for units in (2, 5, 12):
        # The interval of a mean of so many units reaches t·se; the reference lies twice as far away.
        t = 2 * student.ppf(0.975, units - 1)
        assert p_value(0.5, 0.0, 1.0, -0.5, units=units) == pytest.approx(2 * student.sf(t, units - 1), rel=1e-9)
        assert p_value(0.5, 0.0, 1.0, 0.0, units=units) == pytest.approx(0.05)
    assert p_value(0.5, 0.0, 1.0, -0.5) == pytest.approx(2 * normal.sf(2 * 1.959964), rel=1e-3)
    assert p_value(0.5, 0.0, 1.0, -0.5, units=1) == p_value(0.5, 0.0, 1.0, -0.5, units=2)


def test_findings_rest_on_the_degrees_of_freedom_of_a_row_or_on_the_fewer_units() -> None:
    row = {"items": 40, "raters": 9, "over": "both"}
    assert _units({**row, "df": 6.5}) == 7.5
    assert _units(row) == 9
    assert _units({**row, "over": "items"}) == 40
    assert _units({**row, "over": "items", "units": 12}) == 12
    assert _units({"over": "both"}) is None


def test_a_fact_lists_only_rows_of_which_a_column_is_true_with_their_group() -> None:
    rule = Fact("Passing: {rows}.", row="{model}[ for {group}] ({rate})", where="passes", none="Nobody passes.")
    frame = pl.DataFrame(
        {"question": ["a{b}", "c"], "model": ["m", "n"], "rate": [0.75, 0.25], "passes": [True, False]}
    )

    def said(frame: pl.DataFrame, by: tuple[str, ...] = ("question",)) -> list[str]:
        return [one.text for one in decide([statement(rule, frame, Words(by))])[0]]

    assert said(frame) == ["Passing: m for a{b} (0.75)."]
    assert said(frame, ()) == ["Passing: m (0.75)."]
    assert said(frame.filter(~pl.col("passes"))) == ["Nobody passes."]
    assert said(frame.with_columns(passes=pl.lit(None, dtype=pl.Boolean))) == []


def test_the_ends_of_an_interval_are_shown_as_its_estimate() -> None:
    words = Words(columns={"share": Column(percent=True, interval=("low", "high")), "p": Column(digits=3)})
    row = {"share": 0.342, "low": 0.27, "high": 0.451, "p": 0.02}
    assert (
        words.filled("{share} (95 % CI {low} to {high}, p = {p})", row)
        == "34.2 % (95 % CI 27.0 % to 45.1 %, p = 0.020)"
    )


def test_two_of_two_are_not_shown_to_be_more_than_none_of_two() -> None:
    """Wilson's intervals of 2 of 2 and 0 of 2 lie on one side of their estimates only."""
    frame = pl.DataFrame(
        {"group": ["a", "b", "c"], "estimate": [1.0, 0.0, 0.0], "low": [0.342, 0, 0], "high": [1.0, 0.658, 0.658]}
    )
    rule = Extremes(most="{rows} most", alike="{range} cannot be told apart")
    many = [statement(rule, frame, Words(("group",))) for _ in range(3)]
    assert {one.text for found in decide(many) for one in found} == {
        "0.00 to 1.00 cannot be told apart; a lead of 1.54 would have been seen."
    }
    clear = frame.with_columns(low=pl.Series([0.9, 0.0, 0.0]), high=pl.Series([1.0, 0.1, 0.1]))
    (found,) = decide([statement(rule, clear, Words(("group",)))])[0]
    assert found.text == "a (1.00, 95 % CI 0.90 to 1.00) most."


def test_the_end_of_an_interval_that_leaves_out_the_reference_is_not_rounded_onto_it() -> None:
    frame = pl.DataFrame({"estimate": [-0.0364], "low": [-0.0692], "high": [-0.0036]})
    rule = Against(0.0, above="Above", below="Below chance")
    [[finding]] = decide([statement(rule, frame, Words(symbol="α"))])
    assert finding.text == "Below chance (α = −0.04, 95 % CI −0.069 to −0.004)."
