"""Detection in the report: methods, curves and relevance, and plain words where votes are missing or few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import f1_score

from tests.studies.context.judged import judged_corpus
from tests.studies.context.pipeline.planted import Planted, planted_corpus
from vantage import Corpus
from vantage.context import Cost, Simulator, simulate
from vantage.studies.base import find
from vantage.studies.context import detection
from vantage.studies.context.analysis import TITLES, ContextAnalysis, Statements

SELECTIVE = TITLES["selective"]


def tasked(corpus: Corpus) -> Corpus:
    items = corpus.items.with_columns(pl.lit("sarcasm").alias("task"))
    return Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)


def found(kinds: list[str], **options: Any) -> Statements:
    corpus = planted_corpus(kinds)
    told = simulate(corpus, "sarcasm", Simulator(Planted(), count=6, samples=1, stop=0), "selective")
    chosen = find("context").options(
        **{"tasks": "sarcasm", "methods": "constant,length,selective", "resamples": 10, **options}
    )
    costs = {("sarcasm", "planted", "selective"): Cost(7, None, None)}
    return ContextAnalysis(tasked(told.corpus), chosen, costs=costs).parts["sarcasm"]


def test_methods_stand_beside_votes_and_the_last_model_flags() -> None:
    one = found(["clear", "ambiguous"] * 8 + ["foreign"])
    assert [method.method for method in one.methods] == [TITLES["constant"], TITLES["length"], SELECTIVE]
    assert one.selector is not None
    assert one.selector.method == SELECTIVE
    assert len(one.flagged) >= 4
    assert set(one.flagged) <= {f"s{n:03}" for n in range(1, 16, 2)}
    told = detection.methods(one)
    assert told.facts["unscored_items"].startswith(
        f"{SELECTIVE}: 1 item without a score (the item is relevant to none of the personas)"
    )
    assert (told.facts["marked"], told.facts["voted"]) == (8, 17)
    assert told.frame.filter(method=SELECTIVE)["calls"].to_list() == [7]
    lines = detection.curves(one)
    assert lines is not None
    plain, modelled = lines.partition_by("used", maintain_order=True)
    assert set(plain["method"]) == {TITLES["length"], detection.RANDOM}
    assert set(modelled["method"]) == {SELECTIVE, detection.RANDOM}
    assert set(modelled["used"]) == {"that use planted"}
    assert modelled.filter(method=detection.RANDOM)["low"].null_count() == 0
    relevant = told.frame.filter(method=SELECTIVE)["relevant"].to_list()
    assert relevant == pytest.approx([one.selector.table["relevant"].mean()])
    assert one.selector.table["relevant"].min() == 0


def test_the_most_ambiguous_statements_come_first() -> None:
    told = detection.statements(found(["clear", "ambiguous"] * 8))
    assert told.frame["doubt"].head(8).to_list() == pytest.approx([0.4] * 8)
    assert told.frame["doubt"].tail(4).to_list() == [0] * 4
    assert told.facts["sorted_by"] == "people's doubt and then by the score"
    assert {name: told.facts[name] for name in ("listed", "of_all", "selector")} == {
        "listed": 12, "of_all": 16, "selector": SELECTIVE
    }  # fmt: skip
    assert set(told.frame["answers"].head(8)) == {"no 60 %, yes 40 %"}


def test_too_few_votes_leave_scores_without_a_verdict_and_a_budget_flags() -> None:
    one = found(["clear", "ambiguous"] * 2)
    assert not one.judged
    assert [method.method for method in one.methods] == [SELECTIVE]
    assert len(one.flagged) == 1
    told = detection.methods(one)
    assert told.frame["auc"].to_list() == [None]
    assert told.facts["few_votes"] == "4 items of the task"
    assert detection.curves(one) is None


def test_nobody_and_no_model_leave_no_section() -> None:
    corpus = planted_corpus(["clear"] * 3)
    alone = Corpus(corpus.items, corpus.raters.clear(), corpus.judgments.clear(), corpus.instruments)
    analysis = ContextAnalysis(tasked(alone), find("context").options(tasks="sarcasm"))
    assert detection.tasks(analysis) == {}
    assert analysis.parts["sarcasm"].flagged == []


def test_scores_of_more_personas_are_nearer_to_those_of_all() -> None:
    one = found(["clear", "ambiguous", "clear"] * 8, methods="selective")
    by_number = detection.by_personas(one)
    assert by_number["personas"].to_list() == [5, 6]
    some, everyone = by_number["rho_all"].to_list()
    assert 0.5 < some < everyone == pytest.approx(1.0)
    scores = one.methods[0].table.select("item", "score").join(one.votes.select("item", "entropy"), on="item")
    rank = scores.select(pl.corr("score", "entropy", method="spearman")).item()
    assert by_number["rho"][-1] == pytest.approx(rank)
    assert detection.ambiguity_by_personas(one).is_empty()


def test_people_are_in_doubt_less_often_where_personas_flag_what_has_context() -> None:
    one = found(["clear", "ambiguous"] * 10, methods="selective")
    alone = one.corpus.judgments.filter(rater="p0", condition="static")
    unclear = alone.with_columns(value=pl.lit(None, dtype=pl.Float64), status=pl.lit("ambiguous"), rater=pl.lit("p9"))
    inside = alone.with_columns(condition=pl.lit("context"))
    raters = pl.concat([one.corpus.raters, pl.DataFrame({"rater": ["p9"], "kind": ["person"]})], how="diagonal_relaxed")
    said = pl.concat([one.corpus.judgments, unclear, inside], how="diagonal_relaxed")
    judged = Corpus(one.corpus.items, raters, said, one.corpus.instruments)
    rows = detection.ambiguity_by_personas(replace(one, corpus=judged))
    # Every sixth answer is "ambiguous" alone and none is in context, so flagged statements lose theirs.
    assert rows["ambiguous"].to_list() == pytest.approx([(1 - n / 20) / 6 for n in rows["flagged"]])
    assert rows["flagged"].min() > 0  # type: ignore[operator]


def test_what_people_say_where_only_flagged_statements_have_context() -> None:
    corpus = judged_corpus(people=5)
    options = find("context").options(tasks="sarcasm", methods="length", resamples=10)
    one = ContextAnalysis(corpus, options).parts["sarcasm"]
    rows = detection.people_selective(one)
    assert rows is not None
    assert rows["method"].to_list() == ["none", TITLES["length"], "all"]
    assert rows["flagged"][-1] == rows["items"][-1] == 60
    gold = dict(corpus.items.select("item", pl.col("label") == "yes").iter_rows())
    people = corpus.judgments.filter(pl.col("rater").str.starts_with("p"))
    for name, condition in (("none", "static"), ("all", "context")):
        said = people.filter(condition=condition)
        # An answer that is no label is wrong for whatever the label is.
        given = [2 if value is None else int(value) for value in said["value"]]
        right = [int(gold[item]) for item in said["item"]]
        row = rows.row(by_predicate=pl.col("method") == name, named=True)
        assert row["f1"] == pytest.approx(f1_score(right, given, labels=[0, 1], average="macro"))
        assert row["ambiguous"] == pytest.approx(given.count(2) / len(given))
