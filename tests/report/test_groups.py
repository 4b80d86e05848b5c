"""One figure for each trait: how its groups answer, and the texts that part them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.report import Figure, Table
from vantage.report.distributions import AnswerCounts, answers_of, trait_groups
from vantage.report.engine import Absent, Analysis
from vantage.report.groups import trait_figures
from vantage.report.spectrum import division
from vantage.scales import Scale

SCALES = {"binary": Scale.labels("no", "yes"), "nominal": Scale.labels("a", "b", "c"), "ordinal": Scale.points(1, 5)}


def judged(scale: Scale, **traits: Sequence[object]) -> Corpus:
    """Eight people who answer alike about four texts, but for t2: there the second four give another answer."""
    raters = [f"p{number}" for number in range(8)]
    rows = [
        {"item": item, "rater": rater, "question": "q", "value": float(scale.codes[-1 if item == "t2" and late else 0])}
        for item in ("t0", "t1", "t2", "t3")
        for late, rater in ((number > 3, rater) for number, rater in enumerate(raters))
    ]
    items = pl.DataFrame({"item": ["t0", "t1", "t2", "t3"], "text": ["One.", "Two.", "Three.", "Four."]})
    people = pl.DataFrame({"rater": raters, "kind": ["person"] * 8, **traits})
    return Corpus(
        items, people, pl.DataFrame(rows), [Instrument.of_questions("try", "Try", {"q": scale, "unasked": scale})]
    )


@pytest.mark.parametrize("kind", SCALES)
def test_the_text_that_parts_two_groups_is_listed_with_the_answers_of_both(kind: str) -> None:
    scale = SCALES[kind]
    figure, table = trait_figures(Analysis(judged(scale, home=["north"] * 4 + ["south"] * 4), None, 0))
    assert isinstance(figure, Figure)
    assert isinstance(table, Table)
    shares = {(row["group"], row["answers"]) for row in figure.data.iter_rows(named=True) if row["answers"]}
    assert shares == {("north", 16), ("south", 12), ("south", 4)}
    assert table.frame["item"].to_list() == ["t2"], "no other text parts them"
    votes = [[one["votes"] for one in table.frame[f"group_{place}"][0]] for place in (1, 2)]
    assert [sum(one) for one in votes] == [4, 4]
    assert (votes[0][0], votes[1][-1]) == (4, 4)
    assert [head.title for head in table.heads()] == ["text", "north", "south"]


def test_an_ordered_trait_keeps_its_order_and_a_number_has_three_parts() -> None:
    corpus = judged(SCALES["ordinal"], school=["low", "high", "mid", "mid"] * 2, age=[20, 21, 30, 31, 32, 40, 41, 42])
    parts = trait_figures(Analysis(corpus.with_trait_scales(school=["low", "mid", "high"]), None, 0))
    school, age = (one for one in parts if isinstance(one, Figure))
    assert school.data["group"].unique(maintain_order=True).to_list() == ["low", "mid", "high"]
    assert age.data["group"].unique(maintain_order=True).to_list() == ["20 to 30", "31 to 32", "40 to 42"]


def test_one_person_is_no_group() -> None:
    with pytest.raises(Absent):
        trait_figures(Analysis(judged(SCALES["binary"], home=["north"] * 7 + ["south"]), None, 0))


def test_groups_of_a_trait_keep_its_order_and_numbers_are_three_parts() -> None:
    bands = [f"{low}-{low + 9}" for low in range(10, 110, 10)]
    raters = pl.DataFrame(
        {
            "rater": [f"p{n}" for n in range(30)],
            "kind": ["person"] * 30,
            "band": [bands[n % 10] for n in range(30)],
            "age": [float(20 + n) for n in range(30)],
        }
    )
    judged = pl.DataFrame({"rater": raters["rater"], "item": "t", "question": "q", "value": 1.0})
    instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.points(1, 5)})
    corpus = Corpus(pl.DataFrame({"item": ["t"]}), raters, judged, [instrument]).with_trait_scales(band=bands)
    assert [name for name, _ in trait_groups(corpus, "band")] == bands
    parts = trait_groups(corpus, "age")
    assert [(name, int(members.sum())) for name, members in parts] == [
        ("20 to 29", 10),
        ("30 to 39", 10),
        ("40 to 49", 10),
    ]
    counts = AnswerCounts.of(corpus, corpus.questions[0], trait="band")
    assert counts.groups == ("people", *(f"band = {band}" for band in bands))
    assert counts.counts[0, 1:].sum(axis=1).tolist() == [3] * 10


def test_answers_to_a_slider_are_named_by_their_ends_and_agree_only_where_they_are_the_same() -> None:
    instrument = Instrument.of_questions("mine", "Mine", {"q": Scale.continuous(0, 100)})
    assert answers_of(instrument.questions[0])[1][::9] == ("0 to 10", "90 to 100")
    judged = {"item": ["a", "a", "b", "b"], "rater": ["x", "y"] * 2, "question": "q", "value": [91.0, 99.0, 50.0, 50.0]}
    raters = pl.DataFrame({"rater": ["x", "y"], "kind": "person"})
    corpus = Corpus(pl.DataFrame({"item": ["a", "b"]}), raters, pl.DataFrame(judged), [instrument])
    assert division(AnswerCounts.of(corpus, corpus.questions[0]))["unanimous"] == 0.5
