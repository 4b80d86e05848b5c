"""Pictures of the gallery, drawn from the bundled corpora: docs/images/gallery-*.svg."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from vantage import demo_corpus
from vantage.measures import registry
from vantage.report.engine import Analysis
from vantage.report.parts import Figure, Part
from vantage.report.plots import Plots
from vantage.report.spectrum import spectrum
from vantage.report.style import drawn
from vantage.report.views import present


def _shown(measure: str, **options: object) -> Part:
    """The figure that a measure declares, by question."""
    known = registry()[measure]
    frame = known.function(demo_corpus(), by="question", **options)
    parts = present(frame, known.view, name=measure, by=["question"]).parts
    return next(part for part in parts if isinstance(part, Figure))


FIGURES: Final[dict[str, Callable[[], Part | str]]] = {
    "spectrum": lambda: spectrum(Analysis(demo_corpus().filter(question="trust"), None, 0))[0],
    "agreement": lambda: _shown("alpha", resamples=200),
    "wright": lambda: Plots(demo_corpus()).wright("trust"),
}


def picture(name: str) -> str:
    """A figure of the gallery on white ground, which reads in the dark too."""
    figure = FIGURES[name]()
    assert isinstance(figure, Figure)  # noqa: S101 - the demo has what each of them needs
    return on_white(drawn(figure.draw).svg)


def on_white(svg: str) -> str:
    """A figure with a ground of its own, and without a word about how it was made."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r"(<svg[^>]*>)", r'\1<rect width="100%" height="100%" fill="white"/>', svg, count=1)
