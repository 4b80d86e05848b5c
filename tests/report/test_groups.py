"""One figure for each trait: how its groups answer, and the texts that part them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.report import Figure, Table
from vantage.report.engine import Absent, Analysis
from vantage.report.groups import trait_figures
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
