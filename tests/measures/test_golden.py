"""The numbers of every measure are those that were kept: see tools/golden.py."""

from __future__ import annotations

import polars as pl
import pytest

from tools import golden
from vantage.measures import registry


def frame(column: str, number: float | None, text: str | None = None, measure: str = "alpha") -> pl.DataFrame:
    names = {"corpus": "gaps", "measure": measure, "variant": "", "by": "default", "ci": "items", "row": "trust"}
    types = {"number": pl.Float64, "text": pl.String}
    return pl.DataFrame({**names, "column": column, "number": number, "text": text}, schema_overrides=types)


@pytest.fixture(scope="module")
def kept() -> pl.DataFrame:
    return golden.kept()


@pytest.mark.parametrize("family", sorted({known.family for known in registry().values() if known.built_in}))
def test_ungrouped_estimates_are_what_they_were(family: str, kept: pl.DataFrame) -> None:
    names = [name for name, known in registry().items() if known.built_in and known.family == family]
    cases = [case for name in names for case in golden.cases(name, estimates=True) if case.by is None]
    now = pl.concat(golden.result(case) for case in cases)
    wrong = golden.wrong(golden.differences(kept, now))
    assert wrong.is_empty(), golden.report(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_estimates_are_what_they_were_and_intervals_changed_for_a_reason(kept: pl.DataFrame, half: int) -> None:
    # One case in ten, in two halves that run side by side; `python -m tools.golden --diff` compares all of them.
    now = pl.concat(golden.result(case) for case in list(golden.cases())[half::20])
    changed = golden.differences(kept, now)
    assert golden.wrong(changed).is_empty(), golden.report(golden.wrong(changed))
    assert golden.unexplained(changed).is_empty(), golden.report(golden.unexplained(changed))


def test_what_was_kept_has_every_measure(kept: pl.DataFrame) -> None:
    assert set(kept["measure"]) >= {name for name, known in registry().items() if known.built_in}
    estimates = kept.filter(pl.col("column") == "estimate", pl.col("number").is_not_null())
    assert set(kept["measure"]) == set(estimates["measure"])
    assert golden.KEPT.stat().st_size < 400_000


def test_an_estimate_that_moved_is_wrong_and_an_interval_that_moved_needs_a_reason() -> None:
    was, now = frame("estimate", 0.5), frame("estimate", 0.5 + 1e-9)
    assert golden.wrong(golden.differences(was, was)).is_empty()
    assert len(golden.wrong(golden.differences(was, now))) == 1
    assert golden.differences(was, frame("estimate", 0.5 + 1e-14)).is_empty()
    assert golden.differences(frame("low", 0.5), frame("low", 0.5 + 1e-8)).is_empty()
    assert len(golden.differences(frame("low", 0.5), frame("low", 0.5 + 1e-5))) == 1
    refused = frame("error", None, "there is nobody")
    assert len(golden.wrong(golden.differences(was, refused))) == 1
    changed = golden.differences(frame("low", 0.5, measure="none such"), frame("low", 0.6, measure="none such"))
    assert golden.wrong(changed).is_empty()
    assert len(golden.unexplained(changed)) == 1
    assert "low: 0.5 → 0.6" in golden.report(changed)
