"""Reports: tables, figures and findings as plain parts, stored in a folder and shown as one self-contained page.

A study gives `Section`s of `Table`s and `Figure`s and its `Finding`s; `folder` stores them, `page` draws
the page, `charts/` holds one function per kind of chart. May import everything up to `collect`, never a study. The next
kind of chart is a function from a frame to a Matplotlib figure in `charts/`, listed in `charts.CHARTS`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.measures.presentation import Against as Against
    from vantage.report.card import write_card as write_card
    from vantage.report.cells import as_json as as_json
    from vantage.report.cells import counted as counted
    from vantage.report.distributions import AnswerCounts as AnswerCounts
    from vantage.report.distributions import answer_places as answer_places
    from vantage.report.distributions import answers_of as answers_of
    from vantage.report.distributions import number as number
    from vantage.report.distributions import shares_of as shares_of
    from vantage.report.folder import Report as Report
    from vantage.report.folder import put_text as put_text
    from vantage.report.ledger import Claim as Claim
    from vantage.report.page import EXPLORER as EXPLORER
    from vantage.report.parts import Column as Column
    from vantage.report.parts import Figure as Figure
    from vantage.report.parts import Finding as Finding
    from vantage.report.parts import Result as Result
    from vantage.report.parts import Section as Section
    from vantage.report.parts import Table as Table
    from vantage.report.parts import cell_text as cell_text
    from vantage.report.published import Published as Published
    from vantage.report.published import published_table as published_table
    from vantage.report.rater_distances import RaterDistances as RaterDistances
    from vantage.report.record import made_at_once as made_at_once
    from vantage.report.sentences import settled as settled
    from vantage.report.spectrum import COLUMNS as COLUMNS
    from vantage.report.spectrum import Spectrum as Spectrum
    from vantage.report.spectrum import colours_of as colours_of
    from vantage.report.spectrum import division as division

_PARTS = dict.fromkeys(("Column", "Figure", "Finding", "Result", "Section", "Table"), "vantage.report.parts")
_PUBLISHED = dict.fromkeys(("Published", "published_table"), "vantage.report.published")

_HOMES = {**_PARTS, **_PUBLISHED, "Report": "vantage.report.folder"}
_WITHIN = {
    **dict.fromkeys(
        ("AnswerCounts", "answer_places", "answers_of", "number", "shares_of"), "vantage.report.distributions"
    ),
    "Claim": "vantage.report.ledger",
    "settled": "vantage.report.sentences",
    **dict.fromkeys(("COLUMNS", "Spectrum", "colours_of", "division"), "vantage.report.spectrum"),
    "Against": "vantage.measures.presentation",
    "RaterDistances": "vantage.report.rater_distances",
    **dict.fromkeys(("as_json", "counted"), "vantage.report.cells"),
    "EXPLORER": "vantage.report.page",
    "write_card": "vantage.report.card",
    "cell_text": "vantage.report.parts",
    "made_at_once": "vantage.report.record",
    "put_text": "vantage.report.folder",
}
"""What other packages of Vantage use besides; it may change."""

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, {**_HOMES, **_WITHIN})
