"""`vantage collect recruit` on the command line, against the fake platform."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.recruit.world import World, study_file, world
from vantage.cli.app import app
from vantage.errors import InputError

RUNNER = CliRunner()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world(tmp_path) as made:
        monkeypatch.setenv("PROLIFIC_TOKEN", made.fake.token)
        monkeypatch.setenv("PROLIFIC_URL", made.address)
        yield made


def run(name: str, file: Path, *more: str) -> str:
    """Runs a command; its output."""
    result = RUNNER.invoke(app, ["collect", "recruit", name, str(file), *more], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_from_draft_to_payment(here: World, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    assert "UNPUBLISHED" in run("create", file)
    with pytest.raises(InputError, match="nobody confirmed it"):
        run("publish", file)
    assert [one["status"] for one in here.fake.studies.values()] == ["UNPUBLISHED"]
    assert json.loads(run("publish", file, "--yes", "--json"))["total"] == 600
    assert [one["status"] for one in here.fake.studies.values()] == ["ACTIVE"]
    one = here.finish("ann")
    assert "1 paid now (1.50 GBP), 0 before" in run("approve", file, "--yes")
    assert "0 paid now (0.00 GBP), 1 before" in run("approve", file, "--yes")
    assert "1 paid now (0.50 GBP)" in run("bonus", file, one, "--amount", "0.5", "--name", "x", "--yes")
    assert "0 topped up now" in run("top-up", file, "--yes")
    told = json.loads(run("status", file, "--json"))
    assert (told["paid"], told["bonuses"], told["proposals"]) == (150, 50, [])
    assert "approve:" in run("ledger", file)
    assert "COMPLETED" in run("stop", file, "--yes")
    with pytest.raises(InputError, match="is approved"):
        run("reject", file, one, "--reason", "x" * 100, "--yes")


def test_what_the_website_shows_is_what_is_confirmed(here: World, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    run("create", file)
    next(iter(here.fake.studies.values()))["reward"] = 175
    assert "4 places at 1.75 each: 7.00 GBP" in run("publish", file, "--yes")
    assert "ACTIVE" in run("status", file)


def test_bad_input_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    file = study_file(tmp_path)
    with pytest.raises(InputError, match="There is no token for Prolific; set the variable PROLIFIC_TOKEN"):
        run("create", file)
    text = file.read_text()
    file.write_text(text.replace("via: prolific", "via: invitation").replace("screen_out_code: OUT", ""))
    plain = tmp_path / "plain.yaml"
    plain.write_text(text[: text.index("recruitment:")].replace("id: ", "id: plain-", 1))
    with pytest.raises(InputError, match="does not say what participants are offered; add 'offer'"):
        run("create", plain)
