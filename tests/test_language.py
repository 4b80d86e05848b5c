"""Plain English: phrases that `docs/style.md` rewrites appear in no message, docstring or page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PHRASES = re.compile(
    r"\bby lot\b|\bstands? twice\b|\bknown are\b|as follows \(|\bgoes? on on\b|\bbrought to (its|an) end\b"
    r"|\bknown as such\b"
    r"|\b(the|this|our) house\b|\bhouse style\b|\brooms\b|\bit was not said\b|\bpeople part\b|\bthe other way round\b"
    r"|\b(is|are) told in (one|\[)|\bproblem is told\b|\bis told with its\b",
    re.IGNORECASE,
)
PAGES = [
    path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")) if path.name not in ("style.md", "CHANGELOG.md")
]
TEMPLATES = [*ROOT.glob("src/**/*.html"), *ROOT.glob("src/**/recipe.yaml"), *ROOT.glob("src/vantage/scaffold/files/*")]
SOURCES = sorted(ROOT.glob("src/**/*.py"))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page, or the strings of a module, each with its line."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, " ".join(node.value.split())
    else:
        yield from enumerate(text.splitlines(), 1)


def test_the_phrases_are_recognised() -> None:
    style = (ROOT / "docs" / "style.md").read_text("utf-8")
    before = [line.split(" | ")[0] for line in style.splitlines() if line.startswith("| ")]
    assert sum(bool(PHRASES.search(sentence)) for sentence in before) >= 10


@pytest.mark.parametrize(
    "paths", [PAGES, TEMPLATES, pytest.param(SOURCES, marks=pytest.mark.slow)], ids=["pages", "templates", "sources"]
)
def test_nobody_writes_them(paths: list[Path]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match.group()}"
        for path in paths
        for line, text in texts(path)
        for match in PHRASES.finditer(text)
    ]
    assert found == [], "see docs/style.md"
