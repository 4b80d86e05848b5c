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


def page(study: str) -> Path:
    """Where the errata stand: on a page of their own, or at the end of the study's."""
    own = DOCS / f"{study}-errata.md"
    return own if own.is_file() else DOCS / f"{study}.md"


def bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def quotations(study: str) -> list[str]:
    """What stands in quotation marks in the errata, sentence by sentence; code and names of ours are left out."""
    text = page(study).read_text("utf-8")
    errata = re.sub(r"```.*?```", "", text[text.index("## Errata") :], flags=re.DOTALL)
    lines: list[str] = []
    for part in errata.split("\n\n"):
        rows = part.split("\n") if part.startswith("|") else re.split(r"\n(?=\d+\. )", part)
        lines += [re.sub(r"`[^`]*`", "", row).replace("\n", " ") for row in rows]
    quoted = [quote for line in lines for quote in re.findall(r'"([^"]*)"', line)]
    return [quote for quote in quoted if len(bare(quote)) >= SHORTEST and quote not in OURS]


@pytest.mark.parametrize("study", list(NUMBERS))
def test_quotations_stand_in_the_papers(study: str) -> None:
    paper = bare(paper_of(study))
    assert [quote for quote in quotations(study) if bare(quote) not in paper] == []


def rows(study: str) -> list[list[str]]:
    """The cells of the table of errata: where, what is printed, what it comes to, and how that was computed."""
    text = page(study).read_text("utf-8")
    lines = re.sub(r"```.*?```", "", text[text.index("## Errata") :], flags=re.DOTALL).split("\n\n")
    table = next(part for part in lines if part.startswith("| where"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


def numbers(text: str) -> set[str]:
    """The numbers in a text, whatever the zeros before and behind them."""
    plain = re.findall(r"\d+(?:,\d{3})+|\d*\.\d+|\d+", re.sub(r"`[^`]*`", "", text))
    return {number.replace(",", "").lstrip("0.").rstrip("0") or "0" for number in plain}


def paper_of(study: str) -> str:
    papers = list(PAPERS.glob(f"{NUMBERS[study]}_*.txt"))
    if not papers:
        pytest.skip("the papers are not here; set VANTAGE_DATA to a folder that has papers/ beside it")
    return papers[0].read_text("utf-8")


@pytest.mark.parametrize("study", ["wcsent", "context", "stereomap", "perseval"])
def test_what_is_called_printed_is_printed(study: str) -> None:
    paper = paper_of(study)
    known = numbers(paper)
    for where, printed, *_ in rows(study):
        assert numbers(printed) <= known, (where, sorted(numbers(printed) - known))
        for place in re.findall(r"(?:Table|Figure) \d+", where):
            assert place in paper or place.replace("Figure", "Fig") in paper, place


def test_an_erratum_has_a_place_and_both_sides() -> None:
    for study in ("wcsent", "context", "stereomap", "perseval"):
        assert all(len(row) >= 3 and row[0] and (row[1] or row[2]) for row in rows(study)), study


def test_few_shot_is_higher_in_half_of_the_pairs_of_wcsent() -> None:
    lines = re.findall(r"(?m)^\s*(\S+) (ZS|FS)\s+(?:<b>)?(0\.\d+)", paper_of("wcsent").partition("Table 3:")[0])
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert len(pairs) == 18
    assert all(one[0] == two[0] and (one[1], two[1]) == ("ZS", "FS") for one, two in pairs)
    higher = [float(two[2]) > float(one[2]) for one, two in pairs]
    assert [sum(higher[part : part + 6]) for part in (0, 6, 12)] == [2, 3, 4]


def test_precisions_of_wcsent_that_their_accuracy_forbids() -> None:
    part = paper_of("wcsent").partition("Table 17:")[2].partition("Table 18:")[0]
    found = re.findall(r"(?m)((?:GPT|Qwen|Gemma)\S*(?:[ -]ZS|[ -]FS))\s+(0?\.\d+)\s+\S+\s+(0?\.\d+)", part)
    assert len(found) == 36
    # Accuracy is a mean of the labels' precisions, so it is not below the lowest, which is at least 3P - 2.
    wrong = [
        name for name, accuracy, precision in found if 3 * (float(precision) - 0.005) - 2 > float(accuracy) + 0.005
    ]
    assert len(wrong) == 9
    assert {name.split()[0] for name in wrong} == {"GPT-5.2", "Qwen3"}


def test_cells_of_goemotions_in_context_are_alike() -> None:
    table = paper_of("context").partition("Table 1: F1")[0]
    lines = re.findall(r"(?m)^(\S+) \((0-shot|CoT)\)((?:\s+(?:<b>)?0\.\d+(?:</b>)?){12})$", table)
    cells = [[float(cell) for cell in re.findall(r"0\.\d+", line[2])] for line in lines]
    assert len(cells) == 8
    same = [[one == two for one, two in zip(*pair, strict=True)] for pair in zip(cells[::2], cells[1::2], strict=True)]
    assert sum(row[4] + row[5] for row in same) == 7
    assert sum(map(sum, same)) == 7 + 7


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
