"""Raters who were drawn in groups, as the design of a corpus says: whole groups are left out wherever raters are."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage import Corpus, measures, read
from vantage.measures import find
from vantage.measures.intervals import Spread, interval
from vantage.measures.multiplicity import dealt_anew
from vantage.measures.ratings import ItemSources, RaterGroups, judgments_frame
from vantage.measures.relations.groups import GroupAnalysis
from vantage.report.views import caption_of
from vantage.robust.joint import BLOCK, Blocks

TEAMS = 8
TRAITS = ["team", "age", "role"]


def table(seed: int = 0, teams: int = TEAMS, of_team: float = 0.8) -> pl.DataFrame:
    """Teams of three who answer alike on 24 texts in six threads, with a trait within and one between teams."""
    rng = np.random.default_rng(seed)
    item, rater = (grid.ravel() for grid in np.indices((24, 3 * teams)))
    team = rater // 3
    latent = rng.normal(0, of_team, teams)[team] + rng.normal(0, 0.3, 3 * teams)[rater]
    latent += rng.normal(0, 0.8, 6)[item // 4] + rng.normal(size=24)[item] + rng.normal(0, 0.8, len(item))
    return pl.DataFrame(
        {
            "item": [f"i{one:02}" for one in item],
            "rater": [f"r{one:02}" for one in rater],
            "value": np.clip(np.rint(latent), -2, 2),
            "team": [f"t{one}" for one in team],
            "age": np.where(rater % 2 == 0, "old", "young"),
            "role": np.where(team % 2 == 0, "lay", "nurse"),
            "thread": [f"s{one // 4}" for one in item],
            "genre": np.where(item // 4 % 2 == 0, "news", "blog"),
            "length": (item * 7 % 11).astype(float),
        }
    )


@cache
def whole(seed: int = 0, teams: int = TEAMS, of_team: float = 0.8) -> Corpus:
    items = {"thread": "thread", "genre": "genre", "length": "length"}
    return read(table(seed, teams, of_team), traits=TRAITS, map=items, question="q")


def corpus(*known: Any, **design: str) -> Corpus:
    return whole(*known).with_design(**design)


RESAMPLED: dict[str, tuple[str, dict[str, Any]]] = {
    "alpha": ("alpha", {"level": "ordinal"}),
    "fleiss": ("fleiss", {}),
    "entropy": ("entropy", {}),
    "split items": ("split-items", {"share": 0.4, "neutral": 0}),
    "distance": ("distance", {"between": "age", "relabellings": 0}),
    "mean between": ("mean", {"between": "genre"}),
}


@pytest.mark.parametrize("over", ["raters", "both"])
@pytest.mark.parametrize("name", RESAMPLED)
def test_a_group_is_left_out_as_one_rater_with_all_of_its_answers_is(name: str, over: str) -> None:
    known, options = find(RESAMPLED[name][0]), RESAMPLED[name][1]
    as_one = table().with_columns(rater="team")
    options = {"level": "interval", **options} if name == "alpha" else options
    found = known.function(corpus(groups="team"), ci=over, **options).row(0, named=True)
    expected = known.function(as_one, ci=over, **options).row(0, named=True)
    for column in ("estimate", "low", "high"):
        assert found[column] == pytest.approx(expected[column], abs=1e-9)
    assert (found["over"], found["raters"]) == ({"raters": "groups", "both": "items and groups"}[over], 3 * TEAMS)


def test_kappas_of_pairs_leave_out_whole_groups() -> None:
    found = measures.cohen(corpus(groups="team"), ci="raters").row(0, named=True)
    frame = table()
    rest = [measures.cohen(frame.filter(pl.col("team") != f"t{one}"), ci="none")["estimate"][0] for one in range(TEAMS)]
    expected = interval(found["estimate"], Spread.without_raters(np.array(rest)), 0.95, (-1.0, 1.0))
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-9)


def test_an_interval_says_what_it_is_over_as_the_design_declares_it() -> None:
    for design, over in (
        ({}, "both"),
        ({"groups": "team"}, "items and groups"),
        ({"sources": "thread"}, "sources and raters"),
        ({"groups": "team", "sources": "thread"}, "sources and groups"),
    ):
        for made in (
            measures.mean(corpus(**design)),
            measures.compare(corpus(**design), between="age"),
            measures.regress(corpus(**design), on="length"),
            measures.explain(corpus(**design), traits="age"),
        ):
            assert made["over"].drop_nulls().unique().to_list() == [over]


def test_captions_name_sources_and_groups() -> None:
    frame = measures.mean(corpus(groups="team", sources="thread"))
    caption = caption_of(find("mean").view, frame, (), "")
    assert caption.endswith("with 95 % intervals over sources (thread) and groups of raters (team).")


def test_few_groups_are_no_sample_of_groups() -> None:
    row = measures.mean(corpus(0, 3, groups="team")).row(0, named=True)
    assert row["over"] == "items"
    assert "fewer than four groups of raters" in row["reason"]


def test_measures_that_take_raters_one_by_one_say_so() -> None:
    for name in ("icc", "split-half", "reliability"):
        row = find(name).function(corpus(groups="team")).row(0, named=True)
        assert "takes raters for drawn one by one, although they come from groups ('team')" in row["reason"]
        assert "groups" not in (find(name).function(corpus()).row(0, named=True)["reason"] or "")


def compared(frame: pl.DataFrame, trait: str) -> list[dict[str, Any]]:
    """A trait compared with raters drawn one by one, and in teams."""
    teams = RaterGroups("team", frame.select("rater", group="team").unique())
    judged = judgments_frame(frame, [trait])
    return [GroupAnalysis.of(judged, trait, None, groups=groups).rows()[0] for groups in (None, teams)]


def test_a_trait_of_whole_groups_is_compared_between_groups() -> None:
    for seed in range(4):
        alone, together = compared(table(seed), "role")
        assert (alone["unit"], together["unit"]) == ("rater", "group")
        assert together["p"] > alone["p"]
        assert together["df"] <= TEAMS


def test_a_trait_that_varies_within_groups_is_compared_within_them() -> None:
    alone, together = compared(table(0, TEAMS, 2.0), "age")
    assert together["unit"] == "rater"
    assert together["se"] < alone["se"]


def test_a_regression_is_over_groups_and_sources() -> None:
    plain, grouped, drawn = (
        measures.regress(corpus(**design), on="genre").row(1, named=True)
        for design in ({}, {"groups": "team"}, {"sources": "thread"})
    )
    constant = [measures.regress(corpus(**design), on="genre")["se"][0] for design in ({}, {"groups": "team"})]
    assert constant[1] > constant[0]
    assert drawn["se"] > plain["se"]
    assert grouped["estimate"] == drawn["estimate"] == plain["estimate"]


@pytest.mark.parametrize("family", ["gaussian", "ordinal"])
def test_explain_has_random_effects_of_what_was_drawn_together(family: Any) -> None:
    rows = measures.explain(corpus(groups="team", sources="thread"), show="variance", family=family)
    assert {"source", "group"} <= {*rows["component"]}
    size = dict(rows.select("component", "estimate").iter_rows())
    assert size["group"] > size["rater"]


def test_groups_change_sides_whole_where_they_are_on_one() -> None:
    rng, team = np.random.default_rng(0), np.repeat(np.arange(6), 3)
    whole, inside = np.repeat([1, 0, 1, 0, 1, 0], 3), np.tile([1, 0, 0], 6)
    for _ in range(20):
        moved = whole[dealt_anew(whole, team, rng)].reshape(6, 3)
        assert (moved == moved[:, :1]).all()
        assert moved.sum() == whole.sum()
        assert (inside[dealt_anew(inside, team, rng)].reshape(6, 3).sum(axis=1) == 1).all()
    one_by_one = dealt_anew(whole, np.arange(18), np.random.default_rng(1))
    assert one_by_one.tolist() == np.random.default_rng(1).permutation(18).tolist()


def test_a_permutation_test_moves_whole_groups() -> None:
    plain, grouped = (
        measures.distance(corpus(3, TEAMS, 1.2, **design), between="role", metric="wasserstein").row(0, named=True)
        for design in ({}, {"groups": "team"})
    )
    assert grouped["p"] > plain["p"]


def test_scales_of_traits_are_known_where_models_answered_too() -> None:
    frame = (
        table()
        .drop("genre", "length")
        .with_columns(kind=pl.when(pl.col("rater") == "r00").then(pl.lit("model")).otherwise(pl.lit("person")))
    )
    mixed = read(frame, traits=TRAITS, map={"kind": "kind", "thread": "thread"}, question="q")
    mixed = mixed.with_trait_scales(age=["young", "old"])
    rows = [measures.groups(one, traits="age")["row"].to_list() for one in (mixed, mixed.people())]
    assert rows[0] == rows[1]
    assert "trend" in rows[0]
    assert {*measures.groups(mixed)["trait"]} == {*TRAITS}


def test_a_joint_test_deals_whole_groups() -> None:
    drawn = corpus(0, 40, groups="team")
    blocks = Blocks.of(drawn, drawn.judgments, "age", 0)
    assert blocks.unit == "groups"
    assert blocks.corpus.raters.group_by("team").agg(pl.col(BLOCK).n_unique())[BLOCK].max() == 1
    known = corpus(0, 40)
    own = pl.when(pl.col("rater") > "r50").then("team").otherwise(None).alias("team")
    alone = Corpus(known.items, known.raters.with_columns(own), known.judgments, known.instruments, known.about)
    alone = alone.with_design(groups="team")
    assert Blocks.of(alone, alone.judgments, "age", 0).corpus.raters[BLOCK].null_count() == 0


def with_a_model(**design: str) -> Corpus:
    frame = table(1, TEAMS, 1.2).drop("genre", "length", "thread").with_columns(kind=pl.lit("person"))
    model = frame.filter(rater="r00").with_columns(rater=pl.lit("m"), kind=pl.lit("model"))
    both = pl.concat([frame, model.with_columns(pl.lit(None, pl.String).alias(one) for one in TRAITS)])
    return read(both, traits=TRAITS, map={"kind": "kind"}, question="q").with_design(**design)


def test_models_are_tested_against_whole_groups_of_people() -> None:
    plain, grouped = (
        measures.error_gaps(with_a_model(**design), traits=["role"]).row(0, named=True)
        for design in ({}, {"groups": "team"})
    )
    assert (plain["over"], grouped["over"]) == ("raters", "groups")
    assert grouped["high"] - grouped["low"] > plain["high"] - plain["low"]
    of_whose = [
        measures.whose_label(with_a_model(**design), traits="role", permutations=200)["p"][0]
        for design in ({}, {"groups": "team"})
    ]
    assert of_whose[1] > of_whose[0]


def test_items_without_a_source_stand_alone() -> None:
    posts = {"item": [*"abcd"], "rater": [1] * 4, "value": [1, 2, 3, 4], "author": ["x", None, "x", None]}
    codes = ItemSources.of(posts, "author").codes(pl.Series([*"abcd"]))
    assert codes[0] == codes[2]
    assert len(set(codes.tolist())) == 3


@pytest.mark.parametrize("name", ["dif", "facets"])
def test_a_measure_that_cannot_leave_out_what_was_drawn_together_says_so(name: str) -> None:
    rated = corpus(groups="team", sources="thread")
    reasons = find(name).function(rated, **({"between": "age"} if name == "dif" else {}))["reason"]
    said = "; ".join(reasons.drop_nulls().unique())
    assert "raters for drawn one by one, although they come from groups ('team')" in said
    assert "items for drawn one by one, although they come from sources ('thread')" in said
