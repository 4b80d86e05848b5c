"""The registry, and the shape of results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.measures import registry
from vantage.measures.agreement.alpha import alpha
from vantage.measures.base import BIASED, REGISTRY, RENAMED, RESULT, table


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
    shared = ["by", "ci", "interval", "resamples", "confidence", "seed", "kinds", "include_excluded", "include_extra"]
    for name, known in registry().items():
        assert [option for option in known.options if option in shared] == [o for o in shared if o in known.options], (
            name
        )
        assert not RENAMED.keys() & known.options.keys() - {"method"}, name
        estimators = {"aggregate", "bands", "competence", "needed-raters", "scaling", "scaling-split-half"}
        assert "method" not in known.options or name in estimators, f"{name}: `method` names an estimator"


def test_an_option_under_its_old_name_says_the_new_one() -> None:
    with pytest.raises(InputError, match="it is now 'interval'"):
        alpha([[1, 2], [1, 2]], level="nominal", method="bca")  # type: ignore[call-overload]
