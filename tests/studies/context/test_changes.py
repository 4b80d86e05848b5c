"""Before and after: what context changes among people, in single answers, and with so many personas."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.studies.context.judged import judged_corpus
from tests.studies.context.test_people import asked
from vantage import Corpus, Instrument, measures
from vantage.studies.base import find
from vantage.studies.context import changes
from vantage.studies.context.analysis import ContextAnalysis
from vantage.studies.context.pipeline.detection import Judging, ceiling


def analysis(corpus: Corpus) -> ContextAnalysis:
    return ContextAnalysis(corpus, find("context").options(tasks="sarcasm", methods="length", resamples=50))


def test_changes_are_differences_of_the_measures_on_the_same_statements() -> None:
    corpus = judged_corpus(30, {}, people=6)
    rows = {row["quantity"]: row for row in changes.changes(analysis(corpus)).rows(named=True)}
    alpha = measures.alpha(corpus, by="condition", level="nominal", ci="none")
    before, after = (alpha.filter(condition=name)["estimate"][0] for name in ("static", "context"))
    found = rows["agreement (alpha)"]
    assert (found["static"], found["context"]) == pytest.approx((before, after))
    assert found["difference_low"] < found["difference"] < found["difference_high"]
    unclear = rows["ambiguity score"]
    assert unclear["static"] == pytest.approx((corpus.filter(condition="static").judgments["value"].is_null()).mean())
    assert unclear["difference_high"] < 0
    assert unclear["p"] < 0.01
    assert rows["F1, ambiguous is wrong"]["difference"] > rows["F1, decided answers"]["difference"] > 0


def test_few_statements_and_statements_without_a_difference_have_no_interval() -> None:
    few = changes.changes(analysis(judged_corpus(8, {}, people=4)))
    assert few["items"].to_list() == [8] * 4
    assert few.select(pl.col("difference").count(), pl.col("p").count()).row(0) == (4, 0)
    alike = changes.changes(analysis(asked())).filter(quantity="ambiguity score").row(0, named=True)
    assert (alike["difference"], alike["difference_low"]) == (pytest.approx(-1 / 3), None)


def test_answers_move_from_what_they_were_to_what_they_are() -> None:
    rows = {row["who"]: row for row in changes.transitions(analysis(asked())).rows(named=True)}
    assert list(rows) == ["people", "p0", "p1", "p2"]
    # Each of them is in doubt about every third statement; the first says no to all others, half of which are yes.
    assert rows["p1"]["settled"] == rows["p0"]["settled"] == pytest.approx(1 / 3)
    assert (rows["p0"]["corrected"], rows["p1"]["corrected"], rows["p0"]["misled"]) == (pytest.approx(1 / 3), 0, 0)
    whole = rows["people"]
    assert whole["change"] == pytest.approx(whole["right_context"] - whole["right_static"])
    assert whole["change"] == pytest.approx(np.mean([rows[f"p{n}"]["change"] for n in range(3)]))
    assert (whole["pairs"], whole["raters"]) == (36, 3)
    assert whole["together"] == whole["change"] > whole["change_low"] > 0


def test_opposite_contexts_mislead_models_and_blind_ones_do_not() -> None:
    rows = changes.transitions(analysis(judged_corpus(60, {"m:a": (0.9, 0.9)})))
    change = {row["kind"]: row for row in rows.rows(named=True)}
    assert change["written for the opposite label"]["change_high"] < -0.5
    assert change["written for the opposite label"]["misled"] > 0.5
    blind = change["written without a label"]
    assert blind["change_low"] < 0.1 < blind["change_high"] + 0.1
    assert rows["together"].null_count() == len(rows)


def voted(chances: list[float], votes: int) -> pl.DataFrame:
    """Votes on statements of which readers say yes with these chances."""
    rng = np.random.default_rng(0)
    yes = rng.binomial(votes, chances) / votes
    shares = [[1 - share, share, 0.0] for share in yes]
    return pl.DataFrame({"shares": shares, "votes": [votes] * len(shares)})


def test_the_ceiling_is_low_for_few_votes_and_one_for_many() -> None:
    scale, rng = Instrument.load("sarcasm").questions[0].scale, np.random.default_rng(1)
    chances = rng.beta(0.5, 0.5, 300).tolist()
    few, many = (ceiling(voted(chances, votes), scale, Judging())["ceiling"] for votes in (5, 200))
    assert 0.7 < few < 0.95 < many <= 1
    # Where all items are alike, nobody can tell which will divide people.
    assert ceiling(voted([0.3] * 300, 5), scale, Judging())["ceiling"] < 0.65
    assert ceiling(voted([0.0] * 30, 5), scale, Judging()) == {}
