"""A corpus as one picture for a slide or a post: the Spectrum, one sentence and the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from vantage.corpora import Corpus
from vantage.corpora.disclosure import shown
from vantage.corpora.writers.place import put_file
from vantage.errors import InputError, nearest
from vantage.report.cells import shortened
from vantage.report.charts import draw
from vantage.report.distributions import counted_answers
from vantage.report.engine import Analysis
from vantage.report.parts import Figure
from vantage.report.spectrum import division, spectrum
from vantage.report.style import FAINT, figure_style

SIZE: Final = (8.0, 4.2)
"""Inches; 1200 × 630 pixels."""
DOTS: Final = 150
SOURCE: Final = 150
"""Characters of the source."""


def write_card(corpus: Corpus, place: Path, question: str = "") -> str:
    """Writes the picture of a question, as PNG; gives its sentence."""
    part = shown(corpus.included())
    known = [asked.id for asked, _ in counted_answers(part)]
    if not known:
        raise InputError("no question was answered by two raters about the same text", remedy="collect more judgments")
    if question and question not in known:
        raise InputError(f"'{question}' cannot be drawn", remedy=nearest(question, known))
    own = part.filter(question=question or known[0])
    [(_, counts)] = counted_answers(own)
    [figure] = spectrum(Analysis(own, None, 0))
    assert isinstance(figure, Figure)  # noqa: S101 - what it gives
    said, about = str(division(counts)["said"]), corpus.about
    named = [about.title or about.name, counts.question.title or counts.question.id, about.citation or about.source]
    drawing = draw(figure.chart, figure.data, {**figure.options, "width": SIZE[0], "height": SIZE[1], "title": said})
    with figure_style():
        source = shortened(" · ".join(filter(None, named)), SOURCE)
        drawing.supxlabel(source, x=0.99, ha="right", fontsize=7, color=FAINT)
        how: dict[str, Any] = {"format": "png", "dpi": DOTS, "facecolor": "white"}
        put_file(place, lambda prepared: drawing.savefig(prepared, **how), overwrite=True)
    return said
