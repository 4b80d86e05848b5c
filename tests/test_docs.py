"""Every block of the documentation is run or says why not, page by page, and prints what the page says.

A `python` block is run, and prints what its comments `# → …` show, in this order. A `sh` block is run. A `console`
block is a transcript: lines with `$` are run and print the other lines. Above one that cannot be run a comment says
why, `<!-- not run: it needs … -->`; its `vantage` commands are still parsed. `<!-- printed -->` above a `text` block
says that the block before it prints this. An ellipsis `…` leaves something out.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from tools.pictures import CHARTS
from tools.reference import PAGES as GENERATED
from vantage.cli import main
from vantage.cli.app import app
from vantage.corpora.readers import READERS
from vantage.measures import find
from vantage.measures.base import REGISTRY
from vantage.measures.option_text import parse_options

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG = {
    *("README.md", "choosing.md", "explain.md", "measures.md", "measures-agreement.md", "measures-answers.md"),
    *("measures-accuracy.md", "measures-relations.md", "models.md", "presentations.md"),
    *("raters.md", "reports.md", "start.md", "stereomap.md", "studies.md"),
    *("audit.md", "compare-model.md", "panel.md", "perspective.md", "plan.md", "population.md", "gallery.md"),
}
"""Pages whose blocks ask a real model, write whole reports or simulate."""
QUICK = {f"images/{name}.svg" for name in CHARTS}
"""Pages that are drawn from data that is kept, without computing it."""
LONGEST = 3500
"""Words of a page that people are to read."""
BLOCK = re.compile(r"^(?:<!-- (.*?) -->\n)?```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"# → (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@dataclass(frozen=True)
class Block:
    remark: str
    language: str
    code: str

    @property
    def commands(self) -> Iterator[list[str]]:
        """The `vantage` commands, as words."""
        for line in self.code.replace("\\\n", " ").splitlines():
            if line.removeprefix("$ ").startswith("vantage "):
                yield shlex.split(line.removeprefix("$ "), comments=True)
            elif self.language == "sh":
                assert not shlex.split(line, comments=True), f"only vantage commands belong in sh blocks: {line}"


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(page.read_text("utf-8"))]


@pytest.fixture
def _measures_as_they_were() -> Iterator[None]:
    """A page may add a measure, which other tests in this process do not know."""
    yield
    for name in [name for name, known in REGISTRY.items() if not known.built_in]:
        del REGISTRY[name]


@pytest.mark.usefixtures("_measures_as_they_were")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page for page in PAGES],
    ids=lambda page: page.name,
)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        if block.language == "text" and block.remark == "printed":
            check_printed(printed, block.code.splitlines(), page)
        if block.language not in ("python", "sh", "console") or block.remark.startswith("not run: "):
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            if block.language == "python":
                exec(compile(block.code, str(page), "exec"), names)  # noqa: S102
            for words in block.commands if block.language != "python" else ():
                run(words, monkeypatch, fails=block.language == "console")
        printed = out.getvalue()
        if block.language == "console":
            check_printed(printed, [line for line in block.code.splitlines() if not line.startswith("$ ")], page)
        check_printed(printed, SHOWN.findall(block.code), page)


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, *, fails: bool) -> None:
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert fails or not ended.value.code, shlex.join(words)


def check_printed(printed: str, expected: list[str], page: Path) -> None:
    """Whether lines were printed in this order; white space counts once, and … stands for anything."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in expected:
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in line.split("…"))
        assert any(re.fullmatch(pattern, found) for found in lines), f"{page.name}: {line}\n\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_not_run_can_be_parsed(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("console", "bash") and block.remark.startswith("not run: "):
            for words in block.commands:
                check_words(words[1:])


def check_words(words: list[str]) -> None:
    """Whether a command knows its options, without running it."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("vantage", words.copy(), resilient_parsing=False)
    while hasattr(command, "commands") and (rest := [*context._protected_args, *context.args]):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    if context.info_name == "measure" and context.params.get("name"):
        parse_options(find(context.params["name"]), list(context.args))
    if context.info_name == "import":
        assert context.params["reader"] in READERS


def test_pages_are_short_unless_they_are_written_from_code() -> None:
    written = {*(Path(page).name for page in GENERATED), "calibration.md"}
    long = {page.name: len(page.read_text("utf-8").split()) for page in PAGES if page.name not in written}
    assert {name: words for name, words in long.items() if words > LONGEST} == {}


def test_every_page_begins_with_what_the_reader_can_do_after_it() -> None:
    """References that are written from the code say what they list instead, and the index where to go."""
    written = {"index.md", "api.md", "calibration.md", "instrument-reference.md", "study-reference.md"}
    pages = [page for page in PAGES if page.parent.name == "docs" and page.name not in written]
    assert len(pages) > 50
    begun = re.compile(r"# [^\n]+\n\nAfter this page you (can|know|have) ")
    assert [page.name for page in pages if not begun.match(page.read_text("utf-8"))] == []


def test_every_transcript_is_run_or_says_why_not() -> None:
    bare = [
        f"{page.name}: {block.code.splitlines()[0]}"
        for page in PAGES
        for block in blocks(page)
        if block.language in ("console", "bash") and not block.remark and not block.code.startswith("$ ")
    ]
    assert bare == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in GENERATED]
)
def test_the_pages_that_follow_from_the_code_are_current(name: str) -> None:
    kept, made = (ROOT / "docs" / name).read_text("utf-8"), GENERATED[name]()
    # Processors round differently, and a picture is laid out from sums: it is compared by what it shows.
    shown = picture if name.endswith(".svg") else str
    assert shown(kept) == shown(made), "run: make reference"


def picture(svg: str) -> tuple[list[str], Counter[str]]:
    """The words of a drawing in their order, and how many elements of each kind it has."""
    return re.findall(r"<text[^>]*>([^<]*)", svg), Counter(re.findall(r"<(\w+)", svg))


def test_every_page_stands_in_the_navigation() -> None:
    sections = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    listed = [name for section in sections for names in section.values() for name in names]
    assert sorted(listed) == sorted(page.name for page in PAGES if page.parent.name == "docs")


def test_the_readme_is_short_and_shows_each_promise() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) < 120
    _, *promises = text.split("## Your own table")[0].split("\n## ")
    assert [len(re.findall(r"!\[.+?\]\(.+?\)", promise)) for promise in promises] == [1] * len(promises)
    assert len(promises) >= 4


@pytest.mark.parametrize("walk", ["a rating request", "a study", "an annotation"])
def test_a_walk_takes_ten_hops_through_modules_that_exist(walk: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split(f"## The walk of {walk}\n")[1].split("\n## ")[0]
    hops = re.findall(r"^\| (\d+) \| (.+?) \|", section, re.MULTILINE)
    assert [int(number) for number, _ in hops] == list(range(1, 11))
    base = ROOT / "src" / "vantage" / ("collect" if walk == "an annotation" else "")
    for _, where in hops:
        path = re.findall(r"`([\w/]+(?:\.py|/))`", where)[0].replace("NAME", "*")
        assert any(base.glob(path.rstrip("/"))), where


def test_the_architecture_page_names_modules_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+(?:/|\.py))` \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) > 10
    for package, what in rows:
        assert (ROOT / "src" / "vantage" / package).exists()
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", what):
            assert any((ROOT / "src" / "vantage" / package).rglob(name.rstrip("/"))), name


def test_the_style_guide_shows_twenty_sentences_before_and_after() -> None:
    table = (ROOT / "docs" / "style.md").read_text("utf-8").split("| before | after |")[1]
    assert len(re.findall(r"^\| (?!---)", table, re.MULTILINE)) == 20


@pytest.mark.slow
def test_the_site_builds_with_strict_links(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from your table to a report" in (tmp_path / "site" / "start.html").read_text("utf-8")
