"""`vantage rate --batch`: submitted now, collected later, at half the price."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.batch.provider import Provider
from vantage import demo_corpus
from vantage.cli import main
from vantage.runs.batch import engine


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-that-stays-secret")
    monkeypatch.setattr(engine, "FIRST_POLL", 0.02)
    with Provider() as running:
        yield running


def rate(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> int:
    told = ["--instrument", "warmth-competence", "--question", "trust", "--model", "openai:tester", "--limit", "3"]
    monkeypatch.setattr(sys, "argv", ["vantage", "rate", str(folder), *told, *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_batch_is_submitted_and_collected_by_the_same_command(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, prices = tmp_path / "corpus", tmp_path / "prices.yaml"
    demo_corpus().write(folder)
    prices.write_text("openai:tester: {input: 1000, output: 10000}\n")
    words = ["--base-url", provider.url, "--batch", "--prices", str(prices)]
    assert rate(monkeypatch, folder, *words, "--batch-wait", "0") == 1
    told = capsys.readouterr()
    assert "3 requests are in batches" in told.err
    assert "run the same command again to collect them" in told.out
    assert rate(monkeypatch, folder, *words, "--json") == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert (summary["sent"], summary["missing"]) == (3, 0)
    assert summary["cost"] == pytest.approx(3 * (100 * 0.001 + 10 * 0.01) / 2)
    assert len(provider.batches) == 1


def test_the_estimate_of_a_batch_is_half_of_that_of_single_requests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, prices = tmp_path / "corpus", tmp_path / "prices.yaml"
    demo_corpus().write(folder)
    prices.write_text("openai:tester: {input: 1000, output: 10000}\n")
    costs = []
    for words in ([], ["--batch"]):
        assert rate(monkeypatch, folder, "--prices", str(prices), "--estimate", "--json", *words) == 0
        costs.append(json.loads(capsys.readouterr().out)[0]["cost"])
    assert costs[1] == pytest.approx(costs[0] / 2)


def test_a_batch_and_a_cluster_exclude_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "corpus"
    demo_corpus().write(folder)
    assert rate(monkeypatch, folder, "--batch", "--engine", "ray") == 2
    assert "choose one of them" in capsys.readouterr().err
