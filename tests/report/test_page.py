from __future__ import annotations

import base64
import hashlib
import html.parser
import re

import polars as pl
import pytest

from tests.report.reports import HOSTILE, report
from vantage.report import Published, Report, Result, Section, Table, published_table
from vantage.report.latex import latex_table
from vantage.report.page import ROWS, page, table_view
from vantage.report.record import Record
from vantage.report.style import drawn


class Read(html.parser.HTMLParser):
    """The tags, attributes and words of a page as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data.replace("\u00a0", " ")


def shown(one: Report) -> str:
    return page(one.record, one.result, {figure.name: drawn(figure.draw) for figure in one.result.figures})


@pytest.fixture(scope="module")
def plain() -> str:
    return shown(report())


@pytest.fixture(scope="module")
def hostile() -> str:
    return shown(report(HOSTILE))


def test_the_page_asks_the_network_for_nothing(plain: str) -> None:
    read = Read(plain)
    assert not {"link", "iframe", "object", "base", "form", "img"} & set(read.tags)
    links = [value or "" for name, value in read.attributes if name in ("href", "src", "action")]
    assert all(value.startswith(("#", "tables/", "figures/")) for value in links)


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else(plain: str) -> None:
    policy = next(str(value) for name, value in Read(plain).attributes if value and "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", plain, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_nothing_is_styled_or_scripted_inline(hostile: str) -> None:
    names = {name for name, _ in Read(hostile).attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_hostile_text_stays_text_in_every_place(plain: str, hostile: str) -> None:
    one, other = Read(plain), Read(hostile)
    # Long words may be broken; nothing else differs.
    assert one.tags == [tag for tag in other.tags if tag != "wbr"]
    assert "49" not in re.sub(r"[\d.]{3,}", "", other.words.split("Versions")[0]) or "7*7" in other.words
    assert "onerror=" in other.words
    assert "\x07" not in hostile


def test_options_seeds_versions_and_counts_are_stated(plain: str) -> None:
    words = Read(plain).words
    for part in ("seed", "option", "polars", "refused", "unparsed", "not set", "started"):
        assert part in words


def test_the_page_opens_with_what_was_found(plain: str) -> None:
    words = Read(plain.split("</style>")[1]).words
    order = ["Findings", "Caveats", "Figure 1.", "Methods", "Table 1.", "Data", "Options and versions"]
    places = [words.index(word) for word in order]
    assert places == sorted(places)
    assert words.count("Figure 1.") == 1
    assert "Figure 1 is at the top of the page." in words
    stopped = Read(shown(report(state="running"))).words
    assert stopped.index("This run is not complete") < stopped.index("Findings")


def test_many_caveats_are_folded_and_few_are_not() -> None:
    one = report()
    few = shown(one)
    assert "<h2>Caveats</h2>" in few
    many = shown(Report(one.record, Result([], [], [f"Caveat number {n}." for n in range(9)])))
    assert '<details class="box warning"><summary><b>Caveats (10):</b>' in many
    assert "Caveat number 8." in Read(many).words


@pytest.mark.parametrize("rows", [1, 2])
def test_nouns_are_counted(rows: int) -> None:
    one = Report(
        Record("x", "y", state="complete", corpus={"items": rows, "raters": rows, "judgments": rows, "notes": []}),
        Result([Section("s", [], [Table("t", "c", pl.DataFrame({"n": range(rows)}))])]),
    )
    one.record.corpus |= dict.fromkeys(("title", "source", "licence", "citation"), "")
    words = Read(shown(one)).words
    end = "" if rows == 1 else "s"
    assert f"{rows} row{end}: CSV" in words
    assert f"{rows} item{end}, {rows} rater{end}, {rows} judgment{end}" in words


def test_no_p_value_is_naught_and_dashes_stand_alone() -> None:
    frame = pl.DataFrame(
        {"p": [0.0, 0.0004], "p_holm": [0.2, float("nan")], "estimate": [0.5, 0.4], "low": [None, float("nan")]}
    ).with_columns(high=pl.col("low"))
    table = Table("t", "One p = 0.000 here.", frame)
    assert [[cell.text for cell in row] for row in table.rows()] == [
        ["< .001", ".200", "0.500"],
        ["< .001", "–", "0.400"],
    ]
    text = Read(shown(Report(Record("x", "y", state="complete"), Result([Section("s", [], [table])])))).words
    assert "One p < .001 here." in text
    assert r"$<$ .001 & .200 & 0.500" in latex_table(table)
    assert r"\caption{One p $<$ .001 here.}" in latex_table(table)


@pytest.mark.slow
def test_wide_tables_are_dense_and_become_cards_on_phones() -> None:
    names = ["estimate", *(f"measure number {n}" for n in range(16))]
    wide = Table("wide", "c", pl.DataFrame({name: [0.123456, 0.2] for name in names}))
    assert table_view(wide)["classes"] == "dense cards tight"
    assert table_view(Table("n", "c", pl.DataFrame({"a": ["x"], "b": [1]})))["classes"] == ""
    assert 'data-head="estimate"' in shown(Report(Record("x", "y"), Result([Section("s", [], [wide])])))
    many = Table("many", "c", pl.DataFrame({f"c{n}": [0.123456] for n in range(60)}))
    assert table_view(many)["classes"] == "dense cards tight always"


@pytest.mark.parametrize(
    ("state", "reason", "sentence"),
    [
        ("interrupted", "the disk is full", "It stopped before its end: the disk is full."),
        ("running", "", "cut off without a word"),
    ],
)
def test_a_run_that_is_not_complete_says_so(state: str, reason: str, sentence: str) -> None:
    assert sentence in Read(shown(report(state=state, reason=reason))).words


def test_ten_thousand_rows_stay_usable() -> None:
    frame = pl.DataFrame({"text": [f"item {i} " + "x" * 40 for i in range(10_000)], "n": range(10_000)})
    one = Report(Record("x", "y", state="complete"), Result([Section("s", [], [Table("big", "c", frame)])]))
    text = shown(one)
    assert text.count("<tr>") == ROWS + 1
    words = Read(text).words
    assert "The page has the first 200 of 10,000 rows; all of them are in the files." in words
    assert "Show 200 of 10,000 rows" in words
    assert 'href="tables/big.csv"' in text
    assert len(text) < 100_000


def test_numbers_carry_what_they_are_sorted_by(plain: str) -> None:
    assert 'data-key="0.597"' in plain
    assert "<b>0.60</b>" not in plain
    assert '<span class="interval">[0.50, 0.70]</span>' in plain


def test_published_figures_are_marked_and_counted() -> None:
    rows = [Published("a", "T1", ".6", 0.61), Published("b", "T1", ".6", 0.9), Published("c", "T1", ".6", None)]
    one = Report(Record("x", "y", state="complete"), Result([Section("s", [], [published_table("p", "c", rows)])]))
    text = shown(one)
    assert 'class="matched"' in text
    assert 'class="differs"' in text
    words = " ".join(Read(text).words.split())
    assert "3 published figures: 1 matched at the precision in print, 1 different, 1 not recomputable." in words


def test_a_report_with_nothing_in_it_is_a_page() -> None:
    text = shown(Report(Record("x", ""), Result([])))
    assert "<h1>x</h1>" in text


def test_lone_surrogates_do_not_break_the_page() -> None:
    text = shown(Report(Record("x", "a\ud800b", state="complete"), Result([])))
    assert "a\ufffdb" in text
