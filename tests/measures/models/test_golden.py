"""Mixed models of published data, against lme4 and ordinal in R (values made by `tools/models_golden.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tools.models_golden import TRAITS, multipico, wcsent
from vantage.corpora import Corpus
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.cumulative import Cumulative
from vantage.measures.models.explain import Explanation, explain
from vantage.measures.models.terms import prepare
from vantage.measures.ratings import judgments_frame

pytestmark = pytest.mark.data
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ratings(data_dir: Path) -> pl.DataFrame:
    return wcsent(data_dir)


@pytest.fixture(scope="module")
def irony(data_dir: Path) -> Corpus:
    return multipico(data_dir)


def variances(rows: pl.DataFrame) -> dict[str, float]:
    return dict(rows.select(pl.col("component").str.replace("item × gender", "item:gender"), "estimate").rows())


@pytest.mark.parametrize("question", ["competence", "sociability", "trust"])
def test_variances_and_likelihood_of_wcsent_are_those_of_lmer(ratings: pl.DataFrame, question: str) -> None:
    golden = GOLDEN[question]
    found = explain(ratings, question=question, family="gaussian", show="variance")
    assert variances(found) == pytest.approx(golden["variance"], rel=1e-4)
    assert found["log_likelihood"][0] == pytest.approx(golden["log_likelihood"], abs=1e-3)


def test_a_cumulative_model_of_trust_is_that_of_clmm(ratings: pl.DataFrame) -> None:
    golden, data = GOLDEN["trust_ordinal"], ratings.filter(question="trust")
    codes = [data[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in ("item", "rater")]
    fit = Cumulative(data["value"].to_numpy(), np.ones((len(data), 1)), Crossed(codes)).fit(np.array([1.0, 0.4]))
    assert fit.log_likelihood == pytest.approx(golden["log_likelihood"], abs=1e-2)
    assert fit.variances.tolist() == pytest.approx(list(golden["variance"].values()), rel=1e-3)
    assert fit.thresholds.tolist() == pytest.approx(golden["thresholds"], abs=1e-3)
    assert fit.threshold_errors.tolist() == pytest.approx(golden["errors"], rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "interactions"), [("multipico", ()), ("multipico_interaction", ("item:gender",))])
def test_traits_in_multipico_have_the_estimates_of_lmer(
    irony: Corpus, name: str, interactions: tuple[str, ...]
) -> None:
    golden = GOLDEN[name]
    options: dict[str, Any] = {"traits": TRAITS, "family": "gaussian", "interactions": interactions}
    found = explain(irony, show="variance", **options)
    assert variances(found) == pytest.approx(golden["variance"], rel=1e-4, abs=1e-5)
    assert found["log_likelihood"][0] == pytest.approx(golden["log_likelihood"], abs=1e-3)
    if not interactions:
        frame = judgments_frame(irony, [*TRAITS, "kind"]).filter(pl.col("value").is_not_null())
        ready = prepare(frame, TRAITS, (), {}, irony.trait_scales, kinds=True)
        fit = Explanation(ready, "gaussian").fit
        for term, place in (("gender1", 1), ("age", 1 + ready.terms[0].columns.size)):
            assert fit.beta[place] == pytest.approx(golden["fixed"][term], rel=1e-4, abs=1e-6)
            assert fit.covariance[place, place] ** 0.5 == pytest.approx(golden["errors"][term], rel=1e-3)


@pytest.mark.slow
def test_a_binary_model_of_multipico_is_that_of_glmer(irony: Corpus) -> None:
    golden = GOLDEN["multipico_binary"]
    assert_terms(explain(irony, traits=TRAITS, family="binary", permutations=0), golden, rel=1e-2)


def assert_terms(rows: pl.DataFrame, golden: dict[str, Any], rel: float = 1e-4) -> None:
    """The first level of gender against the mean of both, and the slope of age, are the coefficients of R."""
    for name, term, level in (("gender1", "gender", "Female"), ("age", "age", None)):
        kept = rows.filter(pl.col("term") == term, pl.col("versus") != "clearest difference")
        row = kept.filter(level=level, versus="mean of levels").row(0, named=True) if level else kept.row(0, named=True)
        assert row["estimate"] == pytest.approx(golden["fixed"][name], rel=rel, abs=1e-6)
        assert row["se"] == pytest.approx(golden["errors"][name], rel=max(rel, 1e-3))
