"""Errata are exact: quotations stand in the papers, where these are at hand, and figures contradict themselves."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

DOCS = Path(__file__).parents[2] / "docs"
DATA = Path(os.environ.get("VANTAGE_DATA") or Path(__file__).parents[3] / "shared" / "data")
PAPERS = DATA.parent / "papers"
NUMBERS = {"wcsent": "000", "context": "001", "stereomap": "002", "appraisals": "003", "perseval": "004"}
OURS = {"always no", "always yes", "always the average answer"}
"""Names of raters and answers of ours that stand in quotation marks."""
SHORTEST = 10


def bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def quotations(study: str) -> list[str]:
    """What stands in quotation marks in the errata, sentence by sentence; code and names of ours are left out."""
    text = (DOCS / f"{study}.md").read_text("utf-8")
    errata = re.sub(r"```.*?```", "", text[text.index("## Errata") :], flags=re.DOTALL)
    lines: list[str] = []
    for part in errata.split("\n\n"):
        rows = part.split("\n") if part.startswith("|") else re.split(r"\n(?=\d+\. )", part)
        lines += [re.sub(r"`[^`]*`", "", row).replace("\n", " ") for row in rows]
    quoted = [quote for line in lines for quote in re.findall(r'"([^"]*)"', line)]
    return [quote for quote in quoted if len(bare(quote)) >= SHORTEST and quote not in OURS]


@pytest.mark.parametrize("study", list(NUMBERS))
def test_quotations_stand_in_the_papers(study: str) -> None:
    papers = list(PAPERS.glob(f"{NUMBERS[study]}_*.txt"))
    if not papers:
        pytest.skip("the papers are not here; set VANTAGE_DATA to a folder that has papers/ beside it")
    paper = bare(papers[0].read_text("utf-8"))
    assert [quote for quote in quotations(study) if bare(quote) not in paper] == []


@pytest.mark.parametrize(
    ("precision", "recall", "f1", "needed"), [(0.406, 0.696, 0.554, 0.460), (0.532, 0.677, 0.632, 0.592)]
)
def test_two_precisions_of_perseval_do_not_fit_their_f1(
    precision: float, recall: float, f1: float, needed: float
) -> None:
    assert abs(2 * precision * recall / (precision + recall) - f1) > 0.03
    assert 2 * needed * recall / (needed + recall) == pytest.approx(f1, abs=0.0006)


EXAMPLES = {3: "d3429b3ec631d4cc", 6: "ed3df673272e1f6a", 7: "799c43058c18a70c"}
"""The first characters of the SHA-256 of worked examples in W&C-Sent's guidelines, letters and digits alone."""


def test_three_examples_of_the_guidelines_are_test_items() -> None:
    file = DATA / "wcsent" / "WC-Sent_Test_Set.csv"
    if not file.is_file():
        pytest.skip("the data of W&C-Sent are not here; set VANTAGE_DATA to the folder that has wcsent/")
    texts = {sha256(bare(text).encode()).hexdigest()[:16]: bare(text) for text in pl.read_csv(file)["Text"]}
    assert set(EXAMPLES.values()) <= texts.keys()
    for paper in PAPERS.glob(f"{NUMBERS['wcsent']}_*.txt"):
        printed = bare(paper.read_text("utf-8"))
        assert all(texts[example] in printed for example in EXAMPLES.values())
