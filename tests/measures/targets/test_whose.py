"""Whose label: labels that change under a target, beside those that change by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.measures.targets.designs import sample
from tests.measures.targets.test_population import planted
from tests.measures.targets.test_weights import TARGET, corpus_of
from tests.often import times
from vantage import Corpus
from vantage.errors import InputError
from vantage.measures import prevalence, soft_labels, whose_label


def brute(table: pl.DataFrame, group: str) -> int:
    """Items whose label in a group is none of the leading ones of all raters."""
    changed = 0
    for item in table.partition_by("item"):
        everyone, own = (part["value"].mode().to_list() for part in (item, item.filter(home=group)))
        changed += not set(everyone) & set(own)
    return changed


def test_labels_that_change_are_counted_and_tested() -> None:
    _, table = planted(1, people=(30, 12), items=30, delta=2.5)
    rows = whose_label(table, traits="home")
    assert rows["target"].to_list() == ["home: country", "home: town"]
    assert rows["changed"].to_list() == [brute(table, "country"), brute(table, "town")]
    assert rows["raters"].to_list() == [12, 30]
    assert rows["p_adjusted"][0] < 0.05
    assert rows["estimate"][0] == pytest.approx((rows["changed"][0] - rows["expected"][0]) / 30)
    assert rows["chance_from"][0] <= rows["expected"][0] <= rows["chance_to"][0]


def test_without_differences_no_more_labels_change_than_by_chance() -> None:
    said, p = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rater, item = (grid.ravel() for grid in np.indices((24, 15)))
        bias = rng.normal(0, 1, 24)[rater] + rng.normal(0, 1, 15)[item]
        value = (rng.random(len(item)) < 1 / (1 + np.exp(-bias))) * 1.0
        home = np.where(rater < 6, "country", "town")
        table = pl.DataFrame({"item": item, "rater": rater, "value": value, "home": home})
        p.append(whose_label(table, traits="home", permutations=99, seed=seed)["p"][0])
        said += int(whose_label(table, traits="home", per="item", permutations=99, seed=seed)["depends"].any())
    assert np.mean(np.array(p) <= 0.05) <= 0.13
    assert said <= 5


@pytest.mark.slow
def test_without_differences_weights_change_nothing_beyond_noise() -> None:
    """One in eleven counts half: what docs/population.md says of 100 corpora."""
    target, rounds = {"home": {"town": 0.5, "country": 0.5}}, times(100, 15)
    flipped, depends, moved = list[bool](), list[bool](), list[bool]()
    for seed in range(rounds):
        _, table = planted(300 + seed, people=(60, 6), items=30, delta=0.0)
        # Groups answer alike, item by item: homes are dealt out anew.
        homes = pl.Series(np.random.default_rng(seed).permutation(["country"] * 6 + ["town"] * 60))
        table = table.with_columns(home=homes.gather(table["rater"]))
        labels = whose_label(table, target=target, permutations=199, seed=seed)
        flipped.append(bool((labels["p_adjusted"] <= 0.05).any()))
        items = whose_label(table, target=target, per="item", permutations=199, seed=seed)
        depends.append(bool(items["depends"].any()))
        share = pl.when(home="town").then(0.5 / 60).otherwise(0.5 / 6)
        raw, far = (prevalence(table.with_columns(w=share), ci="raters", value=1, weights=w) for w in (None, "w"))
        moved.append(not far["low"][0] <= raw["estimate"][0] <= far["high"][0])
    assert max(np.mean(flipped), np.mean(depends)) <= (0.05 if rounds >= 100 else 0.2)
    assert np.mean(moved) <= (0.1 if rounds >= 100 else 0.25)


def test_a_target_weights_raters_and_items_have_its_shares() -> None:
    corpus = corpus_of(sample()).with_weights("census", TARGET)
    rows = whose_label(corpus, target="census", per="item", permutations=99).filter(target="census")
    shares = soft_labels(corpus, weights="census").rename({"share": "soft"}).select("item", "answer", "soft")
    both = rows.join(shares, on=["item", "answer"])
    assert len(both) == 16
    assert both["estimate"].to_list() == pytest.approx(both["soft"].to_list(), rel=1e-9)
    plain = rows.join(soft_labels(corpus).select("item", "answer", "share"), on=["item", "answer"])
    assert plain["raw"].to_list() == pytest.approx(plain["share"].to_list())
    assert set(whose_label(corpus, target="census", permutations=9)["target"]) == {
        "census", "gender: f", "gender: m", "age: middle", "age: old", "age: young",
    }  # fmt: skip


def test_few_people_are_never_shown() -> None:
    _, table = planted(2, people=(20, 4), items=10)
    rows = whose_label(table, traits="home", permutations=9)
    assert rows["target"].to_list() == ["home: town"]
    assert "groups of fewer than 5 people are not shown (1)" in rows["reason"][0]
    country = {"home": {"country": 1.0, "town": 0.0}}
    named = whose_label(table, target=country, permutations=9)
    assert named["target"].to_list() == ["home: town"]
    assert "not shown (2)" in named["reason"][0]
    _, table = planted(2, people=(20, 6), items=10)
    thin = table.filter((pl.col("home") == "town") | (pl.col("item") > 0) | (pl.col("rater") == 20))
    shown = whose_label(thin, traits="home", per="item", permutations=9).filter(target="home: country")
    assert "0" not in shown["item"].cast(pl.String).to_list()
    assert shown["item"].n_unique() == 9


def with_model(corpus: Corpus, like: str) -> Corpus:
    """The corpus with a model that answers as most raters of a gender do."""
    people = corpus.with_columns_of(["gender"]).filter(gender=like)
    said = people.group_by("item").agg(pl.col("value").mode().max())
    said = said.select("item", pl.lit("rude").alias("question"), pl.lit("bot").alias("rater"), "value")
    return corpus.add(said, pl.DataFrame({"rater": ["bot"], "kind": ["model"]}))


def test_a_model_resembles_the_group_it_was_made_of() -> None:
    corpus = with_model(corpus_of(sample(seed=5, raters=60, items=30)), "f")
    rows = whose_label(corpus, traits="gender", per="model", permutations=199)
    by_target: dict[str, Any] = {row["target"]: row for row in rows.iter_rows(named=True)}
    women, men = by_target["gender: f"], by_target["gender: m"]
    assert women["estimate"] < men["estimate"]
    assert women["p"] < 0.05 < men["p"]
    assert women["skill"] > 0
    assert women["rater"] == "bot"
    assert whose_label(corpus, traits="gender", permutations=9)["judgments"][0] == 60 * 30


def test_nothing_to_compare_is_refused() -> None:
    _, table = planted(1, items=3)
    with pytest.raises(InputError, match="no target and no trait"):
        whose_label(table.drop("home"))
    with pytest.raises(InputError, match="0 permutations"):
        whose_label(table, traits="home", permutations=0)
    nobody = whose_label(table.filter(pl.col("rater") < 4), traits="home")
    assert nobody["reason"].to_list() == ["no group has 5 people or more"]


@pytest.mark.slow
def test_the_report_states_the_target_and_says_what_the_ledger_allows() -> None:
    from vantage.report.overview import overview

    corpus = corpus_of(sample(seed=3, raters=60, items=25))
    assert "Whose label?" not in [section.title for section in overview(corpus).sections]
    section = next(s for s in overview(corpus.with_weights("census", TARGET)).sections if s.title == "Whose label?")
    text = str(section)
    assert "The weights stand for gender (f 52 %, m 48 %); age" in text
    assert "points" in text
    for finding in section.findings:
        assert all(claim.p_family is not None and claim.p_family <= 0.05 for claim in finding.evidence)


def test_groups_that_are_shown_do_not_tell_what_few_people_said() -> None:
    item, rater = (grid.ravel() for grid in np.indices((6, 14)))
    home = np.array(list("aaaaaabbbbbbcc"))[rater]
    table = pl.DataFrame({"item": item, "rater": rater, "value": (item + rater) % 2 * 1.0, "home": home})
    rows = whose_label(table, traits="home", per="item", permutations=9)
    assert rows["target"].unique().to_list() == ["home: b"]  # with a, the answers of c would be the rest
    assert rows.select("raters", "judgments").unique().row(0) == (6, 6)
    without = whose_label(table.filter(pl.col("home") != "c"), traits="home", per="item", permutations=9)
    assert sorted(without["target"].unique()) == ["home: a", "home: b"]


def test_the_rows_of_models_and_items_are_said_in_their_own_words(vantage: Vantage, tmp_path: Path) -> None:
    corpus = with_model(corpus_of(sample(seed=5, raters=60, items=30)), "f")
    corpus.write(tmp_path / "corpus")
    words = ("measure", "whose-label", tmp_path / "corpus", "--traits", "gender", "--permutations", "199")
    said = vantage(*words, "--per", "model")
    assert said.code == 0, said.err
    assert "than a rater that never reads: bot to gender: f (" in said.out
    assert "The label depends" not in said.out
    shown = vantage(*words, "--per", "item").out.splitlines()
    assert {"item", "label", "depends"} <= {*shown[0].split()}
    assert not any(line.startswith("The label depends") for line in shown)
