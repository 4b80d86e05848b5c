"""What type checkers accept: the right calls below pass `mypy --strict`, each wrong one is an error.

`warn_unused_ignores` makes `make lint` fail as soon as a wrong call passes; the test runs mypy on this file alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vantage

if TYPE_CHECKING:
    CORPUS = vantage.demo_corpus()
    vantage.measures.alpha(CORPUS, by="question", kinds=["person"], include_excluded=True)
    vantage.measures.rater_quality(CORPUS, min_items=3)
    vantage.measures.rationale_agreement(CORPUS, metric="rouge-l")
    vantage.studies.run("wcsent", out="results")
    vantage.raters.Personas.load("pool")
    vantage.measures.alhpa(CORPUS)  # type: ignore[attr-defined]
    vantage.alpha(CORPUS)  # type: ignore[attr-defined]
    vantage.measures.alpha(CORPUS, buy="question")  # type: ignore[call-arg]
    vantage.measures.alpha(CORPUS, kinds="all", buy="question")  # type: ignore[call-arg]
    vantage.measures.alpha(CORPUS, ci="basic")  # type: ignore[arg-type]
    vantage.perspective.splitt(CORPUS)  # type: ignore[attr-defined]
    vantage.studies.runn("wcsent")  # type: ignore[attr-defined]


@pytest.mark.slow
def test_right_calls_pass_and_wrong_ones_do_not() -> None:
    api = pytest.importorskip("mypy.api")
    out, err, code = api.run([__file__, "--strict", "--config-file", str(Path(__file__).parents[1] / "pyproject.toml")])
    assert code == 0, out + err
