"""Plain English: phrases that `docs/style.md` rewrites appear in no message, docstring or page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trees import nodes, one_worker

pytestmark = one_worker
ROOT = Path(__file__).resolve().parents[1]
PHRASES = re.compile(
    r"\bby lot\b|\bstands? twice\b|\bknown are\b|as follows \(|\bgoes? on on\b|\bbrought to (its|an) end\b"
    r"|\bknown as such\b"
    r"|\b(the|this|our) house\b|\bhouse style\b|\brooms\b|\bit was not said\b|\bpeople part\b|\bthe other way round\b"
    r"|\b(alone )?are dear\b|\bfor want of\b|\bwhat became of every question\b|\bbecame of the replies\b"
    r"|\bnot to be had from\b|\bnor to be had\b|\ba thousand million\b|\bgoes on where it (was|stopped)\b"
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
    if path.suffix == ".py":
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, " ".join(node.value.split())
    else:
        yield from enumerate(path.read_text("utf-8").splitlines(), 1)


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


STRANGER = re.compile(
    r"\b(?:pip3?|pipx|uv|poetry|pdm|conda|mamba)(?: pip| tool)? (?:install|add|upgrade)"
    r"(?: +[^\s,;|&`]+)*? +[\"']?vantage(?![\w./-])"
    r"|\buvx vantage(?![\w-])"
    r"|(?<![\w/.-])vantage\\?\[[a-z{]"
    r"|(?<![\w/.-])vantage ?[=~>]=\s*\d"
    r"|pypi\.org/(?:p|project)/vantage(?![\w-])"
)
"""`vantage` on the package index is somebody else's; the distribution of this project is `vantage-raters`."""


def test_the_stranger_is_recognised() -> None:
    for line in (
        *("pip install vantage", "pip install 'vantage[text]'", "needs vantage[local]", "vantage[{extra}]"),
        *("pip3 install --upgrade vantage", "python -m pip install -U vantage", "pip install numpy vantage, then"),
        *(
            "uv add vantage",
            "uv pip install vantage",
            "uvx vantage",
            "poetry add vantage",
            "vantage>=1.0",
            "vantage==1",
        ),
        *("https://pypi.org/project/vantage/", "run: pip install vantage; or leave it out", "conda install vantage"),
    ):
        assert STRANGER.search(line), line
    for line in (
        *("pip install 'vantage-raters[text]'", "pip install '/opt/vantage[postgres]'", "pip install ."),
        *("uv add vantage-raters", "pip install -e .; vantage demo", "dist/clean/bin/vantage --version"),
        *(
            "after pip install, run vantage demo",
            'vantage = "vantage.cli:main"',
            "advantage[v] for",
            "vantage-raters>=1",
        ),
    ):
        assert not STRANGER.search(line), line


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file; strings that are put together of several lines are one."""
    text = re.sub(r"([\"'])[ ]*\n\s*f?\1", "", path.read_text("utf-8", errors="replace"))
    yield from enumerate(text.splitlines(), 1)


def test_nothing_names_the_package_of_a_stranger() -> None:
    """Not in code, pages, templates, tools, settings, nor in what tests expect of them."""
    kinds = (".py", ".md", ".toml", ".html", ".yaml", ".yml", ".txt", ".js", ".cff", ".json", ".ipynb", ".R", ".po")
    folders = ("src", "docs", "tests", "tools", "benchmarks")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    paths += [path for path in ROOT.iterdir() if path.suffix in kinds or path.name in ("Makefile", "Dockerfile")]
    paths += [ROOT / ".ci" / "run"]
    assert len(paths) > 1_200
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:200]}"
        for path in paths
        if path != Path(__file__)
        for number, line in lines_of(path)
        if "vantage" in line and STRANGER.search(line)
    ]
    assert found == [], "the distribution is called vantage-raters"
