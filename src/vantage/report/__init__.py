"""Reports: tables, figures and findings as plain parts, stored in a folder and shown as one self-contained page.

A study gives `Section`s of `Table`s and `Figure`s and its `Finding`s; `folder` stores them, `page` draws
the page, `charts/` holds one function per kind of chart. May import everything up to `collect`, never a study. The next
kind of chart is a function from a frame to a Matplotlib figure in `charts/`, listed in `charts.CHARTS`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
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

_NAMES = {
    "card": ["write_card"],
    "cells": ["as_json", "counted"],
    "distributions": ["AnswerCounts", "answer_places", "answers_of", "number", "shares_of"],
    "folder": ["Report", "put_text"],
    "ledger": ["Claim"],
    "page": ["EXPLORER"],
    "parts": ["Column", "Figure", "Finding", "Result", "Section", "Table", "cell_text"],
    "published": ["Published", "published_table"],
    "rater_distances": ["RaterDistances"],
    "record": ["made_at_once"],
    "sentences": ["settled"],
    "spectrum": ["COLUMNS", "Spectrum", "colours_of", "division"],
}
"""Names by module; those that `__all__` leaves out are for other packages of Vantage, and may change."""

__all__ = ["Column", "Figure", "Finding", "Published", "Report", "Result", "Section", "Table", "published_table"]

if not TYPE_CHECKING:
    _HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}
    __getattr__, __dir__ = attach(__name__, _HOMES)
