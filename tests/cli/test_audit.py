"""`vantage audit` on a corpus folder."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.measures.audits.test_balanced import corpus
from tests.report.truth import check_all, check_intervals
from vantage import demo_corpus
from vantage.report.audit import AuditAnalysis, audit_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(2.0, ["order=up", "order=down"], items=30).write(tmp_path_factory.mktemp("corpora") / "asked")


def test_a_card_per_rater_and_a_verdict_each(vantage: Vantage, folder: Path) -> None:
    result = vantage("audit", folder)
    assert result.code == 0
    lines = result.out.splitlines()
    assert any(line.startswith("model") and "down − up" in line for line in lines)
    assert any(line.startswith("Options that are listed first are favoured: model (+") for line in lines)
    verdicts = [line for line in lines if line.startswith(("model: ", "people: "))]
    assert "order (down − up), +" in verdicts[0]
    assert "% of the scale; one answer has a generalizability of 0." in verdicts[0]
    assert verdicts[1].startswith("people: nothing was varied")
    titles = [line.split()[0] for line in lines if line.startswith(("Effects", "Components"))]
    assert titles == ["Effects", "Components"]


def test_json_has_the_effects_the_components_and_the_verdicts(vantage: Vantage, folder: Path) -> None:
    told = json.loads(vantage("audit", folder, "--rater", "model", "--json").out)
    assert set(told) == {"effects", "components", "reliability", "verdicts"}
    assert {row["rater"] for row in told["effects"]} == {"model"}
    assert [row["component"] for row in told["components"]] == ["item", "order", "residual"]
    rows = vantage("audit", folder, "--csv").out.splitlines()
    assert rows[0].startswith("rater,scale,effect,contrast")


@pytest.mark.slow
def test_the_page_has_cards_figures_and_a_gain(vantage: Vantage, folder: Path, tmp_path: Path) -> None:
    result = vantage("audit", folder, "--to", tmp_path / "audit")
    assert result.code == 0
    page = (tmp_path / "audit" / "report.html").read_text("utf-8")
    for words in (
        "Options that are listed first are favoured",
        "side by side",
        "Shares of the variance",
        "closer to people",
    ):
        assert words in page
    assert {path.stem for path in (tmp_path / "audit" / "figures").glob("*.svg")} == {"effects", "variance", "growth"}
    assert vantage("report", tmp_path / "audit").code == 0


def test_the_verdicts_of_an_audit_are_those_of_its_ledger() -> None:
    asked = corpus(2.0, ["order=up", "order=down"], items=30)
    report = audit_report(asked)
    check_all(report.result)
    check_intervals(report.result)
    effects = AuditAnalysis(asked, {"rater": []}).effects.filter(pl.col("p").is_not_null())
    mine = {(row["rater"], row["effect"]): row for row in effects.iter_rows(named=True)}
    claims = [claim for claim in report.result.ledger if claim.table == "audit"]
    assert len(claims) == len(mine) > 2
    for claim in claims:
        row = mine[claim.name.partition(" (")[0], claim.name.partition("(")[2].split(", ")[0]]
        assert (row["low"], row["high"], row["p_adjusted"]) == (claim.low, claim.high, claim.p_family)
        assert row["limit"] == max(abs(row["low"]), abs(row["high"]))
        assert row["clear"] == claim.claims
        assert row["relative_low"] <= row["relative"] <= row["relative_high"]


def test_an_old_corpus_is_one_unknown_presentation_and_says_so(vantage: Vantage, tmp_path: Path) -> None:
    result = vantage("audit", demo_corpus().write(tmp_path / "demo"))
    assert result.code == 0
    assert "people: the judgments do not say how the question was presented" in result.out


def test_a_rater_that_is_not_there_is_one_sentence(vantage: Vantage, folder: Path) -> None:
    result = vantage("audit", folder, "--rater", "modle")
    assert result.code == 2
    assert result.err.startswith("vantage: there is no rater 'modle'; did you mean 'model'?")
