"""Cases against brute force: who is divided, where models part from people, and where they part."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest

from tests.report.eight import EIGHT
from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.report.cases import agreed, beside_people, disagreements, divided, unlike_people
from vantage.report.engine import Absent, Analysis
from vantage.report.marks import words
from vantage.scales import Scale

ANSWERS = {"a": [1, 1, 1], "b": [1, 5, 3], "c": [2, 2, 3], "d": [5, 1, 5]}
SAID = {"a": (5, 5), "b": (3, 3), "c": (2, None), "d": (None, None)}


@pytest.fixture
def analysis() -> Analysis:
    rows = [
        {"item": item, "question": "warm", "rater": f"p{n}", "value": float(value), "rationale": f"because {item}{n}"}
        for item, values in ANSWERS.items()
        for n, value in enumerate(values)
    ]
    for item, values in SAID.items():
        for n, value in enumerate(values):
            given = {"value": value and float(value), "status": "answered" if value else "refused"}
            reply = None if value else "I would rather not."
            rows.append({"item": item, "question": "warm", "rater": f"m{n}", **given, "reply": reply})
    talk = [[{"speaker": "Ann", "text": "Hello."}, {"speaker": "Ben", "text": f"Text {item}"}] for item in ANSWERS]
    items = pl.DataFrame(
        {"item": list(ANSWERS), "text": [f"Text {item}" for item in ANSWERS], "target": ["Ann", None, "Ben", "Cid"]}
    ).with_columns(conversation=pl.Series(talk))
    raters = pl.DataFrame({"rater": ["p0", "p1", "p2", "m0", "m1"], "kind": ["person"] * 3 + ["model"] * 2})
    judgments = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("status").fill_null("answered"))
    scales = {"warm": Scale.points(1, 5)}
    return Analysis(Corpus(items, raters, judgments, [Instrument.of_questions("try", "Try", scales)]))


def test_distances_are_those_of_all_pairs(analysis: Analysis) -> None:
    measured = dict(disagreements(analysis.people).select("item", "disagreement").iter_rows())
    for item, values in ANSWERS.items():
        pairs = [abs(x - y) / 4 for x, y in combinations(values, 2)]
        assert measured[item] == pytest.approx(sum(pairs) / 3)


def test_texts_that_divide_and_texts_that_unite(analysis: Analysis) -> None:
    most, least = divided(analysis), agreed(analysis)
    assert most is not None
    assert most["item"].to_list()[:2] == ["b", "d"]
    assert "a" not in most["item"].to_list(), "a text on which all agree divides nobody"
    row = most.row(0, named=True)
    assert (row["text"], words(row["answers"])) == ("Text b", "1 ×1, 3 ×1, 5 ×1")
    assert row["reasons"] == "“because b0” · “because b1”"
    assert least is not None
    assert least.row(0, named=True)["text"] == "Text a [about Ann]"
    assert sorted([*most["item"], *least["item"]]) == ["a", "b", "c", "d"], "no text is in both lists"


def test_texts_that_tie_are_listed_once() -> None:
    rows = [
        {"item": i, "rater": r, "question": "q", "value": float(v)} for i in "abcd" for r, v in (("x", 1), ("y", 3))
    ]
    raters = pl.DataFrame({"rater": ["x", "y"]})
    items = pl.DataFrame({"item": list("abcd"), "text": list("abcd")})
    tied = Analysis(
        Corpus(items, raters, pl.DataFrame(rows), [Instrument.of_questions("try", "Try", {"q": Scale.points(1, 5)})])
    )
    most, least = divided(tied), agreed(tied)
    assert most is not None
    assert least is not None
    assert sorted([*most["item"], *least["item"]]) == ["a", "b", "c", "d"]


def test_models_are_shown_where_they_part_from_people(analysis: Analysis) -> None:
    shown = unlike_people(analysis)
    assert shown["item"].to_list() == ["a"], "elsewhere models are no further away than people, or too few answered"
    assert shown["said"].to_list() == ["m0: 5; m1: 5"]


def test_nobody_but_people(analysis: Analysis) -> None:
    alone = Analysis(analysis.people)
    with pytest.raises(Absent):
        unlike_people(alone)
    one_person = Analysis(analysis.corpus.filter(rater=["p0", "m0", "m1"]))
    assert divided(one_person) is None
    with pytest.raises(Absent):  # one person has no distance from other people
        unlike_people(one_person)


def test_two_who_differ_come_behind_many_who_do_and_fields_of_the_instrument_are_read() -> None:
    answers = {"two": [0, 1], "many": [0, 1] * 9, "most": [0] * 9 + [1] * 5}
    rows = [(item, f"r{r}", float(v)) for item, values in answers.items() for r, v in enumerate(values)]
    judgments = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row").with_columns(
        question=pl.lit("irony")
    )
    corpus = Corpus(
        pl.DataFrame({"item": list(answers), "post": ["Rain.", "Snow.", "Hail."], "reply": ["Lovely.", "Nice.", None]}),
        pl.DataFrame({"rater": sorted({rater for _, rater, _ in rows})}),
        judgments.with_columns(question=pl.lit("irony")),
        Instrument.load("irony"),
    )
    listed = divided(Analysis(corpus))
    assert listed is not None
    assert listed["text"].to_list() == ["Post: Snow. — Reply: Nice.", "Post: Rain. — Reply: Lovely."]
    rest = agreed(Analysis(corpus))
    assert rest is not None
    assert rest["text"].to_list() == ["Post: Hail."]


def test_a_model_that_gives_distributions_is_as_far_away_as_answers_drawn_from_them() -> None:
    corpus = EIGHT["distributions"]()
    found = beside_people(Analysis(corpus), ["soft"])
    assert found is not None
    people = corpus.filter(kind="person").judgments
    chances = dict(corpus.judgments.filter(rater="soft").select("item", "probabilities").iter_rows())
    for item, distance in found.select("item", "model").head(5).iter_rows():
        others = people.filter(item=item)["value"].to_list()
        drawn = [share * abs(code - other) / 4 for code, share in enumerate(chances[item], 1) for other in others]
        assert distance == pytest.approx(sum(drawn) / len(others))
    shown = unlike_people(Analysis(corpus))
    for item, drawn in shown.select("item", "said").iter_rows():
        assert [one["votes"] for one in drawn] == pytest.approx(chances[item])


def test_several_answers_of_one_model_are_all_shown() -> None:
    corpus = EIGHT["distributions"]()
    soft = corpus.judgments.filter(rater="soft").drop("probabilities")
    sampled = pl.concat(soft.with_columns(sample=pl.lit(n), value=pl.lit(float(1 + n % 2))) for n in range(3))
    people = corpus.judgments.filter(pl.col("rater") != "soft").drop("probabilities")
    judgments = pl.concat([people, sampled.select(people.columns)], how="vertical_relaxed")
    one = Corpus(corpus.items, corpus.raters, judgments, corpus.instruments)
    assert {words(drawn) for drawn in unlike_people(Analysis(one))["said"]} == {"1 ×2, 2 ×1"}
    again = sampled.with_columns(rater=pl.lit("again"))
    raters = pl.concat([corpus.raters, pl.DataFrame({"rater": ["again"], "kind": ["model"]})], how="diagonal_relaxed")
    both = Corpus(corpus.items, raters, pl.concat([judgments, again.select(judgments.columns)]), corpus.instruments)
    assert set(unlike_people(Analysis(both))["said"]) == {"again: 1 ×2, 2 ×1; soft: 1 ×2, 2 ×1"}


@pytest.mark.parametrize("name", ["ordinal", "several"])
def test_each_question_has_the_texts_that_divide_it_most_and_least(name: str) -> None:
    analysis = Analysis(EIGHT[name]())
    every, most, least = disagreements(analysis.people), divided(analysis), agreed(analysis)
    assert most is not None
    assert least is not None
    for (question,), part in every.group_by("question"):
        ranked = part["disagreement"].sort().to_list()
        high, low = (one.filter(question=question)["disagreement"].to_list() for one in (most, least))
        assert len(high) == len(low) >= 3
        assert high == pytest.approx(ranked[::-1][: len(high)])
        assert low == pytest.approx(ranked[: len(low)])
    assert most["question"].unique(maintain_order=True).to_list() == [one.id for one in analysis.corpus.questions]
