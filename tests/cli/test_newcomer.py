"""The ten tasks that a newcomer brings: each has one way, one click from the first page and one word from the top."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from tests.cli.conftest import Vantage
from tests.recruit.world import World, world
from vantage import read
from vantage.cli.app import app
from vantage.measures import registry
from vantage.measures.base import REGISTRY

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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A folder with what the commands of the table name, and a platform for recruiting."""
    with world(tmp_path) as made:
        chance = np.random.default_rng(0)
        people = ("ann", "bo", "cleo", "dora", "evelyn")
        rows = [(n, who, min(max(n % 5 + int(chance.integers(3)), 1), 5)) for n in range(40) for who in people]
        told = [f"t{n},A sentence about number {n}.,{who},{stars}" for n, who, stars in rows]
        for name in ("ratings.csv", "people.csv"):
            (tmp_path / name).write_text("\n".join(["id,sentence,worker,stars", *told]), "utf-8")
        said = [{"sentence": f"A sentence about number {n}.", "model": "m", "reply": f"{n % 5 + 1}"} for n in range(40)]
        replies = map(json.dumps, said)
        (tmp_path / "replies.jsonl").write_text("\n".join(replies), "utf-8")
        (tmp_path / "texts.csv").write_text("id,text\na,Lovely weather again.\nb,I like rain.\n", "utf-8")
        read(tmp_path / "ratings.csv").write(tmp_path / "ratings")
        monkeypatch.setenv("PROLIFIC_TOKEN", made.fake.token)
        monkeypatch.setenv("PROLIFIC_URL", made.address)
        monkeypatch.setattr("vantage.cli.collect.REHEARSED", 4)
        monkeypatch.chdir(tmp_path)
        yield made


FURTHER = {
    "corpora import": ["--overwrite"],
    "collect new": ["--ask", "Is it ironic?", "--answers", "no, yes"],
    "view": ["--export", "page.html"],
    "study wcsent": ["--estimate"],
}
"""What a test adds to a documented command so that it asks nobody, waits for nobody and ends soon."""
LEFT = {
    "report": "ratings/report/report.html",
    "compare-model": "replies-verdict/report.html",
    "collect new": "texts/study.yaml",
    "view": "page.html",
}
"""The file that a command leaves."""


@pytest.mark.parametrize("command", [one for _, how, _ in TASKS for one in re.findall(r"`vantage ([^`]+)`", how)])
def test_the_command_of_a_task_does_it(
    vantage: Vantage, here: World, command: str, request: pytest.FixtureRequest
) -> None:
    words = shlex.split(command)
    if words[:2] == ["study", "wcsent"]:
        words[words.index("--data") + 1] = str(request.getfixturevalue("data_dir") / "wcsent")
    verb = next((one for one in FURTHER if command.startswith(one)), "")
    done = vantage(*words, *FURTHER.get(verb, []))
    assert done.code == 0, done.err
    assert done.out.strip()
    for one, file in LEFT.items():
        assert not command.startswith(one) or Path(file).is_file()
    if command.startswith("collect recruit"):
        assert [one["status"] for one in here.fake.studies.values()] == ["UNPUBLISHED"]
    if "--latex" in words:
        assert r"\toprule" in done.out


def test_a_measure_of_ones_own_is_one_function(
    vantage: Vantage, here: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "adding.md").read_text("utf-8"), re.S)
    (tmp_path / "of_mine.py").write_text(next(one for one in blocks if "@measure(" in one), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(registry())
    try:
        import_module("of_mine")
        (name,) = set(REGISTRY) - before
        assert vantage("measure", name, "ratings", "--by", "question").code == 0
    finally:
        sys.modules.pop("of_mine", None)
        for one in set(REGISTRY) - before:
            del REGISTRY[one]


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
