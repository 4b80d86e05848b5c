"""The registry, and the shape of results."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import combinations
from pkgutil import iter_modules
from typing import Any, Unpack

import numpy as np
import polars as pl
import pytest

import vantage
from benchmarks import calibration_rows, simulators
from vantage import measures
from vantage.errors import InputError
from vantage.measures import base, find, parse_options, registry, split_half
from vantage.measures.agreement.alpha import alpha
from vantage.measures.base import BIASED, REGISTRY, RENAMED, RESULT, measure, table
from vantage.measures.intervals import OVER, Bootstrap, IntervalOptions
from vantage.measures.ratings import REPEATED, By, Judgments


def test_a_measure_knows_its_name_family_and_options() -> None:
    found = REGISTRY["alpha"]
    assert found.family == "agreement"
    assert found.summary.startswith("Krippendorff's alpha")
    assert list(found.options)[:3] == ["by", "level", "distance"]


def test_a_row_records_how_it_was_made() -> None:
    apart = {(1, 2): np.float64(1.0)}
    row = alpha([[1, 2], [2, 2]], distance=apart, resamples=5, seed=3).row(0, named=True)
    assert row["measure"] == "alpha"
    options = json.loads(row["options"])
    assert options["distance"] == {"(1, 2)": 1.0}
    assert (options["seed"], options["resamples"], options["by"]) == (3, 5, [])
    matrix = alpha([[1, 2], [2, 2]], distance=([1, 2], np.array([[0.0, 1.0], [1.0, 0.0]])), ci="none")
    assert json.loads(matrix["options"][0])["distance"] == [[1, 2], [[0.0, 1.0], [1.0, 0.0]]]


def test_table_orders_columns_and_fills_gaps() -> None:
    rows: list[dict[str, Any]] = [
        {"question": "p", "estimate": 1, "left_out": {"refused": 2}, "form": "a"},
        {"question": "q", "estimate": None, "left_out": {}, "form": "b", "reason": "too few"},
    ]
    found = table(rows, "question")
    assert found.columns == ["question", "form", *RESULT]
    assert found["left_out"].to_list() == [{"refused": 2}, {"refused": 0}]
    assert found.schema["estimate"] == pl.Float64
    assert found["reason"].to_list() == [None, "too few"]


def test_an_empty_table_has_the_common_columns() -> None:
    assert table([], ["question"]).columns == ["question", *RESULT]


def test_an_interval_without_its_own_estimate_has_a_reason() -> None:
    rows = table([{"estimate": 0.5, "low": 0.6, "high": 0.7}, {"estimate": 0.6, "low": 0.6, "high": 0.7}])
    assert rows["reason"].to_list() == [BIASED, None]


def test_options_that_measures_share_have_one_name_and_one_order() -> None:
    shared = ["by", "ci", "resamples", "confidence", "seed", "kinds", "include_excluded", "include_extra"]
    for name, known in registry().items():
        assert [option for option in known.options if option in shared] == [o for o in shared if o in known.options], (
            name
        )
        # `weights` are those of raters; where it once meant the penalties of disagreements, it is refused by name.
        assert not RENAMED.keys() & known.options.keys() - {"weights"}, name
        assert not {"weights", "agreement_weights"} <= known.options.keys(), name
        estimators = {"aggregate", "competence", "scaling"}
        assert "method" not in known.options or name in estimators, f"{name}: `method` names an estimator"


def test_the_options_of_intervals_are_those_of_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vantage.measures.base.REGISTRY", dict(REGISTRY))

    @measure("plain-mean", "means", interval=("raters", "sources"))
    def plain_mean(data: Judgments, *, by: By = (), **resampling: Unpack[IntervalOptions]) -> pl.DataFrame:
        """A mean."""
        return table([{"estimate": Bootstrap(**resampling, over=OVER).confidence, "items": len(str(data)), "by": by}])

    known = base.REGISTRY["plain-mean"]
    defaults = {field.name: field.default for field in fields(Bootstrap)}
    own = [*IntervalOptions.__annotations__]
    assert [*known.options][: len(own) + 1] == ["by", *own]
    assert all(known.options[name].default == defaults[name] for name in own)
    assert known.choices["ci"] == OVER
    assert plain_mean({"item": ["a"], "rater": ["x"], "value": [1.0]}, confidence=0.9)["estimate"].to_list() == [0.9]
    with pytest.raises(TypeError, match="level"):
        plain_mean([[1.0]], kinds="all", level=1)


def test_any_two_options_come_in_the_same_order_in_all_measures() -> None:
    order = {pair: name for name, known in registry().items() for pair in combinations(known.options, 2)}
    clashes = {pair: (name, order[pair[::-1]]) for pair, name in order.items() if pair[::-1] in order}
    assert clashes == {}
    assert all(next(iter(known.options)) == "by" for known in registry().values() if "by" in known.options)


def test_an_option_under_its_old_name_says_the_new_one() -> None:
    with pytest.raises(InputError, match="it is now 'splits'"):
        split_half([[1, 2], [1, 2]], iterations=10)  # type: ignore[call-arg]


def _judged(seed: int = 0) -> pl.DataFrame:
    """Thirty items, judged by twelve people and three models, with traits and written reasons."""
    rng = np.random.default_rng(seed)
    item, rater = (grid.ravel() for grid in np.indices((30, 15)))
    value = np.clip(np.rint(rng.normal(size=30)[item] + 0.4 * rng.normal(size=15)[rater] + rng.normal(size=450)), -2, 2)
    model = rater >= 12
    frame = {"item": [f"i{n:02}" for n in item], "rater": [f"r{n:02}" for n in rater], "value": value}
    frame |= {"kind": np.where(model, "model", "person"), "trait": np.where(rater % 2, "a", "b")}
    frame |= {"rationale": [f"because {n % 5} and {n % 7} {'so ' * (n % 11)}" for n in range(450)]}
    return pl.DataFrame(frame)


def _conditions() -> pl.DataFrame:
    both = [_judged(n).with_columns(condition=pl.lit(name)) for n, name in enumerate(("one", "two"))]
    return pl.concat(both).with_columns(pl.col("value").abs())


OPTIONS: dict[str, dict[str, Any]] = {
    "alpha": {"level": "ordinal"},
    "alt-test": {"alignment": "mae", "min_items": 5},
    "compare": {"between": "trait"},
    "correlate": {"data": pl.concat([_judged(n).with_columns(question=pl.lit(str(n))) for n in (0, 1)])},
    "defensible": {
        "data": _judged().with_columns(
            value=(pl.col("value") > 0).cast(pl.Float64),
            first_item=pl.col("item").str.slice(0, 2),
            first_question=pl.lit("q"),
            given_by=pl.concat_list("rater"),
        )
    },
    "dif": {"between": "trait"},
    "distance": {"between": "trait"},
    "error-gaps": {"traits": ["trait"], "level": "ordinal"},
    "expectations": {
        "data": pl.concat([_judged(n).with_columns(question=pl.lit(str(n))) for n in (0, 1)]),
        "question": "0",
        "others": "1",
    },
    "explain": {"traits": "trait", "permutations": 9},
    "groups": {"traits": "trait"},
    "panel": {"level": "ordinal"},
    "population": {"target": {"trait": dict.fromkeys(_judged()["trait"].unique().sort(), 1)}},
    "prevalence": {"value": 1},
    "ranks": {"kinds": "all", "data": _conditions()},
    "rater-matrix": {"ci": "items"},
    "rationale-agreement": {"metric": "rouge-l"},
    "rationale-similarity": {"encode": lambda texts: np.array([[len(text), text.count("1")] for text in texts])},
    "regress": {"on": "genre", "data": _judged().with_columns(genre=pl.col("item").str.slice(1).cast(pl.Int64) % 2)},
    "scaling": {"data": calibration_rows.compared(0, 12)},
    "whose-label": {"traits": "trait", "permutations": 9},
    "set-alpha": {"data": simulators.sets(np.random.default_rng(0), 20, 12, 4)},
}
NO_INTERVAL = {
    *("aggregate", "alt-test", "balanced-gain", "competence", "confusion", "soft-labels"),
    "whose-label",
}
"""Measures whose estimate has no interval, or none in such a table."""


@pytest.mark.parametrize("name", sorted(name for name, known in registry().items() if known.built_in))
def test_every_interval_states_its_target(name: str) -> None:
    known, options = registry()[name], dict(OPTIONS.get(name, {}))
    options |= {"resamples": 20} if "resamples" in known.options else {}
    result = known.function(options.pop("data", _judged()), **options)
    given = result.filter(pl.col("low").is_not_null())
    assert (len(given) == 0) == (name in NO_INTERVAL)
    assert set(given["over"]) <= {"items", "raters", "both", "runs"}
    others = [column.removesuffix("_low") for column in result.columns if column.endswith("_low")]
    for other in (one for one in others if one != "split"):
        over = f"{other}_over" if f"{other}_over" in result.columns else "over"
        assert result.filter(pl.col(f"{other}_low").is_not_null())[over].null_count() == 0, other


OVER_BOTH = {
    name for name, known in registry().items() if "ci" in known.options and known.options["ci"].annotation == "Over"
}


@pytest.mark.parametrize("name", sorted(OVER_BOTH - NO_INTERVAL - {"refusals"}))
def test_a_default_over_less_than_both_says_why(name: str) -> None:
    known, options = registry()[name], dict(OPTIONS.get(name, {}))
    options |= {"resamples": 20} if "resamples" in known.options else {}
    data = options.pop("data", _judged())
    many = known.function(data, **options)
    assert set(many["over"].drop_nulls()) <= ({"both", "items"} if name == "icc" else {"both"})
    raters = data["rater"].unique().sort().to_list()
    few = known.function(data.filter(pl.col("rater").is_in([*raters[:3], *raters[12:13]])), **options)
    given = few.filter(pl.col("low").is_not_null())
    one_way = pl.col("form").str.contains("1") if name == "icc" else pl.lit(False)
    assert given.filter(~one_way)["reason"].str.contains("fewer than (four|ten) raters").all()


def test_an_interval_that_a_measure_does_not_have_is_refused() -> None:
    for name in ("calibration", "panel"):
        with pytest.raises(InputError, match="there is no interval over 'raters'"):
            registry()[name].function(_judged(), ci="raters", **OPTIONS["panel"] if name == "panel" else {})


@pytest.mark.parametrize("name", ["alpha", "fleiss", "pairwise", "unanimity", "icc", "split-half"])
def test_answers_that_a_rater_gave_twice_are_named(name: str) -> None:
    once = pl.DataFrame(
        {"item": [*"abcd"] * 3, "rater": [*"xxxxyyyyzzzz"], "value": [1, 2, 3, 1, 2, 2, 1, 3, 3, 1, 1, 2]}
    )
    options = {"level": "ordinal"} if name == "alpha" else {}

    def reason(frame: pl.DataFrame, **more: Any) -> str:
        return str(find(name).function(frame, **options, **more)["reason"][0])

    assert REPEATED not in reason(once)
    assert REPEATED in reason(pl.concat([once, once]))
    samples = pl.concat([once.with_columns(sample=pl.lit(0)), once.with_columns(sample=pl.lit(1))])
    assert REPEATED in reason(samples)
    assert REPEATED not in reason(samples, by="rater")  # how consistent each of them is
    assert REPEATED not in reason(samples, by="sample")


def test_repeats_in_a_table_that_is_streamed() -> None:
    rows = pl.LazyFrame(
        {"item": [*"aabb"] * 2, "rater": [*"xyxy"] * 2, "value": [1, 2, 2, 1] * 2, "sample": [0] * 4 + [1] * 4}
    )
    assert REPEATED in alpha(rows, level="nominal")["reason"][0]
    assert REPEATED not in str(alpha(rows.filter(sample=0), level="nominal")["reason"][0])


def test_no_module_has_the_name_of_a_measure() -> None:
    # Once it was imported, it would stand in the place of the function.
    assert not {module.name for module in iter_modules(measures.__path__)} & set(measures.HOMES)


@pytest.mark.parametrize("name", ["alpha", "mean", "entropy", "opt-outs", "cohen"])
def test_one_row_per_rater_with_its_interval(name: str) -> None:
    rows = find(name).function(vantage.demo_corpus(), by=["question", "rater"])
    assert len(rows.unique(["question", "rater"])) == 27


@pytest.mark.parametrize(("name", "here"), measures.OTHER_NAMES.items())
def test_other_names_of_measures_say_what_answers_here(name: str, here: str) -> None:
    with pytest.raises(InputError, match=f"there is no measure '{name}'; {here} answers the same question"):
        find(name)
    if name != "agreement":  # a package
        with pytest.raises(AttributeError, match=f"use vantage.measures.{here[:4]}"):
            getattr(measures, name.replace("-", "_"))
    chosen, _, option = here.partition(" with ")
    known = find(chosen.partition(" ")[0])
    assert not option or parse_options(known, [f"--{option}"])
