from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vantage
from vantage.cli import doctor as checkup
from vantage.cli.doctor import Notice


@pytest.fixture(autouse=True)
def nothing_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights' checksum and the card are looked at in the tests of the checks."""
    monkeypatch.setattr(checkup, "models", lambda: [Notice("model embedded", "absent", "not installed")])
    monkeypatch.setattr(checkup, "gpu", lambda: [Notice("gpu", "absent", "none found")])


def test_all_is_well(vantage: Vantage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "requirements", lambda: {"": {"polars": "2.0", "numpy": "2.0"}})
    done = vantage("doctor")
    assert done.code == 0
    assert "No problems." in done.out
    assert "✓ python: Python 3." in done.out
    assert "– gpu: none found" in done.out


def test_a_problem_is_one_sentence_with_its_remedy(vantage: Vantage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "requirements", lambda: {"": {"polars": "99", "nowhere": "1"}})
    done = vantage("doctor")
    assert done.code == 1
    assert "✗ packages: nowhere is not installed; run: pip install --upgrade 'nowhere>=1'." in done.out
    assert "and 99 or newer is needed" in done.out
    assert "2 problems." in done.out
    told = vantage("doctor", "--json")
    assert told.code == 1
    assert told.json["problems"] == 2
    assert {notice["state"] for notice in told.json["notices"]} == {"fine", "absent", "problem"}


def test_the_database_and_the_folder_are_tried(vantage: Vantage, tmp_path: Path) -> None:
    done = vantage(
        "doctor", "--database", "postgresql://me:secret@127.0.0.1:1/x", "--folder", tmp_path / "none", "--json"
    )
    wrong = {notice["part"]: notice for notice in done.json["notices"] if notice["state"] == "problem"}
    assert {"database", "folder"} <= set(wrong)
    assert "Cannot open the database" in wrong["database"]["text"]
    assert "secret" not in done.out
