"""The figures in the results of the studies' pages are those of the studies' ledgers."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tools import results
from tools.results import DOCS, FIGURE, RUNS, filled, ledger
from vantage.report import Claim


def test_examples() -> None:
    assert doctest.testmod(results).failed == 0


@pytest.mark.parametrize("study", RUNS)
def test_every_page_has_figures(study: str) -> None:
    figures = [match for match in FIGURE.finditer((DOCS / f"{study}.md").read_text("utf-8")) if match]
    assert figures
    assert all(match["shown"] and "|" not in match["key"] for match in figures)


def test_a_row_that_is_not_there_is_named() -> None:
    claims = [Claim("fact", numbers={"share": 0.5}, name="trust", table="zeros")]
    assert filled("<!-- = zeros; trust [stated]; share; % -->?<!-- -->", claims).endswith("-->50 %<!-- -->")
    with pytest.raises(KeyError, match=r"no row 'trsut' of the table 'zeros', which has: trust; trust \[stated\]"):
        filled("<!-- = zeros; trsut -->?<!-- -->", claims)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("study", RUNS)
def test_pages_are_as_the_ledgers_have_them(study: str, data_dir: Path) -> None:
    page = (DOCS / f"{study}.md").read_text("utf-8")
    assert filled(page, ledger(study, data_dir)) == page, "run python -m tools.results"
