"""The error correlations of a panel, as figures of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.panels.panel import panel
from vantage.report.parts import Figure, Part


def panel_matrices(corpus: Corpus, questions: Iterable[str]) -> list[Part]:
    """A matrix of error correlations for each question that two models and people answered."""
    matrix = panel(corpus, by="question", show="matrix", ci="none")
    parts: list[Part] = []
    for number, question in enumerate(questions, 1):
        frame = matrix.filter(pl.col("estimate").is_not_null(), question=question)
        if frame.is_empty():
            continue
        caption = (
            f"Error correlations of the models about {question}: how alike their distances from the distribution of "
            "people's answers are; 1 is a copy, 0 an independent vote."
        )
        options: dict[str, Any] = {"row": "first", "column": "second", "label": "error correlation"}
        options |= {"limits": [-1, 1], "diverging": True}
        shown = frame.select("first", "second", "estimate")
        parts.append(Figure(f"panel-matrix-{number}", caption, "", "heat", shown, options))
    return parts
