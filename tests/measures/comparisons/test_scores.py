"""Scores from comparisons: against counting by hand, Choix on a list of comparisons, and a truth that is known."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import choix
import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr, spearmanr

from vantage import Corpus, Instrument
from vantage.corpora.tuples import design
from vantage.errors import InputError
from vantage.measures import scaling


def simulated(
    texts: int = 40, size: int = 4, each: int = 8, raters: int = 12, seed: int = 0, noise: float = 1.0
) -> tuple[dict[str, float], pl.DataFrame]:
    """A truth, and the best and worst that raters with Gumbel noise choose in tuples."""
    rng = np.random.default_rng(seed)
    truth = {f"t{n:02}": float(value) for n, value in enumerate(rng.normal(0, 1.5, texts))}
    names = list(truth)
    rows = []
    for number, members in enumerate(design(texts, size, each, seed)):
        for rater in rng.choice(raters, 4, replace=False):
            felt = [truth[names[member]] + noise * rng.gumbel() for member in members]
            row: dict[str, Any] = {"item": f"u{number:03}", "rater": f"r{rater}"}
            row |= {f"item_{place}": names[member] for place, member in enumerate(members, 1)}
            rows.append({**row, "question": "best", "value": int(np.argmax(felt)) + 1})
            if size > 2:
                rows.append({**row, "question": "worst", "value": int(np.argmin(felt)) + 1})
    return truth, pl.DataFrame(rows)


def by_hand(frame: pl.DataFrame) -> tuple[Counter[str], Counter[str], Counter[str], list[tuple[str, str]]]:
    """Best, worst and appearances of each text, and every comparison that the answers imply."""
    best, worst, seen = Counter[str](), Counter[str](), Counter[str]()
    pairs = []
    for (_, _), rows in frame.group_by("item", "rater", maintain_order=True):
        row = rows.row(0, named=True)
        members = [row[name] for name in row if name.startswith("item_")]
        chosen = {question: members[int(value) - 1] for question, value in rows.select("question", "value").iter_rows()}
        seen.update(members)
        best[chosen["best"]] += 1
        pairs += [(chosen["best"], other) for other in members if other != chosen["best"]]
        if "worst" in chosen:
            worst[chosen["worst"]] += 1
            middle = [one for one in members if one not in chosen.values()]
            pairs += [(other, chosen["worst"]) for other in middle]
    return best, worst, seen, pairs


@pytest.mark.parametrize("size", [2, 3, 4])
def test_counts_are_those_by_hand(size: int) -> None:
    _, frame = simulated(size=size, each=2 * size)
    best, worst, seen, _ = by_hand(frame)
    result = scaling(frame, ci="none")
    assert result["member"].n_unique() == len(result) == 40
    for row in result.iter_rows(named=True):
        name = row["member"]
        assert (row["best"], row["worst"], row["appearances"]) == (best[name], worst[name], seen[name])
        assert row["estimate"] == pytest.approx((best[name] - worst[name]) / seen[name])
    assert result["estimate"].to_list() == sorted(result["estimate"], reverse=True)


@pytest.mark.parametrize("size", [2, 4])
def test_strengths_are_those_of_choix(size: int) -> None:
    _, frame = simulated(texts=24 if size == 2 else 40, size=size, each=2 * size)
    *_, pairs = by_hand(frame)
    names = sorted({name for pair in pairs for name in pair})
    number = {name: place for place, name in enumerate(names)}
    expected = choix.ilsr_pairwise(len(names), [(number[a], number[b]) for a, b in pairs], alpha=0.5 / (len(names) - 1))
    result = scaling(frame, method="bradley-terry", ci="none")
    estimates = dict(result.select("member", "estimate").iter_rows())
    assert [estimates[name] for name in names] == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.parametrize("method", ["counts", "bradley-terry"])
@pytest.mark.parametrize("size", [2, 4])
def test_the_ranks_of_a_known_truth_are_recovered(method: str, size: int) -> None:
    truth, frame = simulated(size=size, each=12)
    result = scaling(frame, method=method, ci="none")  # type: ignore[arg-type]
    known = [truth[name] for name in result["member"]]
    assert spearmanr(known, result["estimate"]).statistic > (0.85 if size == 2 else 0.93)
    if method == "bradley-terry":
        slope = np.polyfit(known, result["estimate"], 1)[0]
        assert 0.6 < slope < 1.4


def test_answers_without_noise_give_the_order_exactly() -> None:
    truth, frame = simulated(texts=11, size=2, each=10, noise=0.0)
    result = scaling(frame, method="bradley-terry", ci="none")
    assert result["member"].to_list() == sorted(truth, key=lambda name: -truth[name])


@pytest.mark.parametrize("ci", ["items", "raters", "both"])
def test_intervals_hold_the_estimate_and_name_what_they_are_over(ci: str) -> None:
    _, frame = simulated(texts=14, each=4)
    result = scaling(frame, ci=ci, resamples=100)  # type: ignore[arg-type]
    assert set(result["over"].drop_nulls()) == {ci}
    inside = result.filter(pl.col("low").is_not_null())
    assert len(inside) > 10
    assert inside.select((pl.col("low") <= pl.col("estimate")) & (pl.col("estimate") <= pl.col("high")))["low"].all()


def test_intervals_of_strengths() -> None:
    _, frame = simulated(texts=14, each=4)
    result = scaling(frame, method="bradley-terry", resamples=40, seed=1)
    assert result["low"].null_count() == 0
    assert (result["high"] > result["low"]).all()
    assert result.equals(scaling(frame, method="bradley-terry", resamples=40, seed=1))


def test_reliability_is_the_correlation_of_two_halves() -> None:
    _, frame = simulated(seed=3)
    result = scaling(frame, show="reliability", splits=50)
    assert 0.7 < result["estimate"][0] < 0.98
    noise = frame.with_columns(pl.lit(np.random.default_rng(0).integers(1, 5, len(frame))).alias("value"))
    assert abs(scaling(noise, show="reliability", splits=50)["estimate"][0]) < 0.35


@pytest.mark.slow
def test_two_halves_of_two_raters_are_these_raters() -> None:
    """With two judgments of every pair, one split by hand has the correlation of a split that was drawn."""
    _, frame = simulated(texts=10, size=2, each=4, raters=4, seed=2)
    two = frame.group_by("item", maintain_order=True).head(2)
    drawn = scaling(two, show="reliability", splits=100)
    firsts = [rows.to_dicts() for _, rows in two.group_by("item", maintain_order=True)]
    rng, found = np.random.default_rng(5), []
    for _ in range(60):
        halves = [
            pl.DataFrame([rows[i] for rows, i in zip(firsts, side, strict=True)]) for side in _sides(rng, len(firsts))
        ]
        scores = [dict(scaling(half, ci="none").select("member", "estimate").iter_rows()) for half in halves]
        names = sorted(scores[0])
        found.append(pearsonr([scores[0][n] for n in names], [scores[1][n] for n in names]).statistic)
    assert drawn["estimate"][0] == pytest.approx(np.mean(found), abs=0.1)


def _sides(rng: np.random.Generator, count: int) -> list[Any]:
    side = rng.integers(0, 2, count)
    return [side.tolist(), (1 - side).tolist()]


def corpus(rows: pl.DataFrame, instrument: str = "best-worst") -> Corpus:
    members = [name for name in rows.columns if name.startswith("item_")]
    items = rows.select("item", *members).unique("item", maintain_order=True)
    raters = rows.select("rater").unique(maintain_order=True)
    return Corpus(items, raters, rows.drop(members), Instrument.load(instrument))


def test_an_instrument_says_which_question_asks_for_the_worst() -> None:
    _, frame = simulated(texts=14, each=4)
    whole = scaling(corpus(frame), ci="none")
    assert whole.drop("options").equals(scaling(frame, ci="none").drop("options"))
    missing = frame.with_row_index().filter(pl.col("index") != 1).drop("index")
    result = scaling(corpus(missing), ci="none")
    assert result["left_out"][0] == {"incomplete": 1}
    assert result["judgments"][0] == whole["judgments"][0] - 1


def test_models_beside_people_are_left_out() -> None:
    _, frame = simulated(texts=14, each=4)
    whole = corpus(frame)
    kinds = whole.raters.with_columns(
        kind=pl.when(pl.col("rater") == "r1").then(pl.lit("model")).otherwise(pl.lit("person"))
    )
    mixed = scaling(Corpus(whole.items, kinds, whole.judgments, whole.instruments), ci="none")
    people = scaling(frame.filter(pl.col("rater") != "r1"), ci="none")
    assert mixed.select("member", "estimate").equals(people.select("member", "estimate"))


def test_no_difference_is_left_out_and_counted() -> None:
    _, frame = simulated(texts=10, size=2, each=4)
    frame = frame.with_columns(pl.lit("choice").alias("question"), pl.lit("answered").alias("status"))
    first = pl.int_range(pl.len()) < 3
    declined = frame.with_columns(
        pl.when(first).then(None).otherwise("value").alias("value"),
        pl.when(first).then(pl.lit("no_difference")).otherwise("status").alias("status"),
    )
    result = scaling(corpus(declined, "pairwise"), ci="none")
    assert result["left_out"][0] == {"no_difference": 3}
    assert result["judgments"][0] == len(frame) - 3


def test_groups_are_scored_apart() -> None:
    _, frame = simulated(texts=14, each=4)
    halves = frame.with_columns((pl.col("item") < "u007").alias("early"))
    result = scaling(halves, by="early", ci="none")
    assert result.columns[:3] == ["early", "question", "member"]
    alone = scaling(halves.filter("early"), ci="none")
    assert result.filter("early")["estimate"].to_list() == alone["estimate"].to_list()


def test_texts_that_no_tuple_links_have_no_strengths() -> None:
    duels = pl.DataFrame(
        {"item": [*"xy"], "rater": [*"aa"], "value": [1, 1], "item_1": ["p", "r"], "item_2": ["q", "s"]}
    )
    result = scaling(duels, method="bradley-terry")
    assert result["estimate"].to_list() == [None]
    assert "fall into 2 parts" in result["reason"][0]


def test_every_member_is_reached() -> None:
    """Every order of three texts, once: nobody is better than anybody."""
    orders = list(permutations("pqr"))
    rows = {"item": [*"abcdef"], "rater": ["x"] * 6, "value": [1] * 6}
    rows |= {f"item_{place + 1}": [order[place] for order in orders] for place in range(3)}
    assert scaling(rows, ci="none")["estimate"].to_list() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"item_2": "other"}, "these items are not tuples"),
        ({"value": 3}, "not a position from 1 to 2"),
    ],
)
def test_what_is_no_comparison_is_refused(change: dict[str, Any], sentence: str) -> None:
    duels = pl.DataFrame({"item": ["x"], "rater": ["a"], "value": [1], "item_1": ["p"], "item_2": ["q"]})
    duels = duels.rename(change) if "item_2" in change else duels.with_columns(value=pl.lit(change["value"]))
    with pytest.raises(InputError, match=sentence):
        scaling(duels)
    with pytest.raises(InputError, match="method 'elo' is not known"):
        scaling(duels, method="elo")  # type: ignore[arg-type]


@pytest.mark.parametrize("ci", ["items", "raters", "both"])
def test_the_reliability_of_scores_has_an_interval(ci: Any) -> None:
    _, frame = simulated(seed=3, each=4)
    row = scaling(frame, show="reliability", splits=20, ci=ci).row(0, named=True)
    assert row["low"] < row["estimate"] < row["high"] < 1
    assert row["over"] == ci
    _, more = simulated(seed=3, each=12)
    longer = scaling(more, show="reliability", splits=20, ci=ci).row(0, named=True)
    assert longer["high"] - longer["low"] < row["high"] - row["low"]


def test_two_raters_leave_nothing_to_learn_about_others() -> None:
    _, frame = simulated(texts=14, each=4)
    row = scaling(frame.filter(pl.col("rater").is_in(["r0", "r1"])), show="reliability", splits=5, ci="both").row(
        0, named=True
    )
    assert row["low"] is None or row["estimate"] is None
    assert row["reason"] is not None
