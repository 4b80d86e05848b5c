"""The ten tasks that a newcomer brings: each has one way, one click from the first page and one word from the top."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.conftest import Vantage
from vantage.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
TASKS = re.findall(
    r"^\| ([^|]+) \| (`[^|]+`[^|]*) \| \[[^]]+\]\(([\w-]+\.md)\) \|$",
    (DOCS / "index.md").read_text("utf-8").partition("## What do you want to do?")[2].partition("\n## ")[0],
    re.M,
)


def test_there_are_ten_tasks() -> None:
    assert len(TASKS) == 10
    assert len({task for task, _, _ in TASKS}) == 10


@pytest.mark.parametrize(("task", "how", "page"), TASKS)
def test_a_task_names_a_command_that_exists_and_a_page_that_shows_it(task: str, how: str, page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    commands = re.findall(r"`vantage ([^`]+)`", how)
    if not commands:
        assert how.split("`")[1] in text, task
    for command in commands:
        group: Any = typer.main.get_command(app)
        verb: list[str] = []
        for word in command.split():
            if not (inner := getattr(group, "commands", {}).get(word)):
                break
            group, verb = inner, [*verb, word]
        assert verb, command
        flags = {flag for parameter in group.params for flag in parameter.opts}
        given = {word for word in command.split() if word.startswith("--")}
        assert given <= flags, command
        assert f"vantage {' '.join(verb)}" in text, f"{page} does not show {command}"


def test_from_a_table_to_agreement_in_a_paper(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        f"A sentence about number {n}.,{who},{(n + len(who)) % 5}" for n in range(6) for who in ("ann", "bo", "cleo")
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["sentence,who,stars", *rows]), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert vantage("corpora", "import", "ratings.csv", "--to", "ratings").code == 0
    words = ("measure", "alpha", "ratings", "--by", "question")
    assert vantage(*words).out.splitlines()[-1].endswith(".")  # a sentence below the table
    assert r"\toprule" in vantage(*words, "--latex").out
