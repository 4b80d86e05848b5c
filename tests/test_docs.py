"""Every `python` and `sh` block of the documentation is run, in order, page by page."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools.reference import pages
from vantage.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for language, code in BLOCK.findall(page.read_text("utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if language == "python":
                exec(compile(code, str(page), "exec"), names)  # noqa: S102
            elif language == "sh":
                for line in code.replace("\\\n", " ").splitlines():
                    run(line, monkeypatch)
    assert tmp_path.exists()


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line, comments=True)
    if not words:
        return
    assert words[0] == "vantage", f"only vantage commands stand in sh blocks: {line}"
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(("name", "text"), pages().items(), ids=pages())
def test_the_pages_that_follow_from_the_code_are_current(name: str, text: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == text, "run: make reference"


def test_every_page_stands_in_the_navigation() -> None:
    sections = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    listed = [name for section in sections for names in section.values() for name in names]
    assert sorted(listed) == sorted(page.name for page in PAGES if page.parent.name == "docs")


@pytest.mark.slow
def test_the_site_builds_with_strict_links(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from your table to a report" in (tmp_path / "site" / "start.html").read_text("utf-8")
