"""Pictures of the gallery, drawn from the bundled corpora: docs/images/gallery-*.svg."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from vantage import Corpus, demo_corpus
from vantage.corpora.bundled import planted_corpus
from vantage.measures import registry
from vantage.report.engine import Analysis
from vantage.report.groups import trait_figures
from vantage.report.parts import Figure, Part
from vantage.report.plots import Plots
from vantage.report.spectrum import spectrum
from vantage.report.style import drawn
from vantage.report.views import present
from vantage.robust import Conclusion, curve, robust


def _shown(measure: str, corpus: Corpus | None = None, by: str = "question", **options: object) -> Part:
    """The figure that a measure declares, by question or another column."""
    known = registry()[measure]
    frame = known.function(corpus or demo_corpus(), by=by.split(","), **options)
    parts = present(frame, known.view, name=measure, by=by.split(",")).parts
    return next(part for part in parts if isinstance(part, Figure))


def _planted() -> Corpus:
    return planted_corpus().filter(question="trust")


def _raters() -> Part:
    """How well each person follows the others."""
    frame = registry()["rater-quality"].function(_planted())
    options = {"category": "rater", "label": "correlation with the others", "reference": 0, "reference_label": "chance"}
    return Figure("raters", "", "", "points", frame.drop("flags", "left_out"), options)


def _needed() -> Part:
    """The reliability of the mean of more and more raters."""
    known = registry()["reliability"]
    frame = known.function(demo_corpus(), by="question", resamples=200)
    options = {**known.view.chart_options, "series": "question", "reference": 0.8}
    return Figure("needed", "", "", "curve", frame.drop("left_out", strict=False), options)


def _robust() -> Part:
    """A difference of two groups of people under other reasonable choices."""
    return curve(robust(_planted(), Conclusion.of("mean", {"between": "home"}, {"question": ["trust"]})))


FIGURES: Final[dict[str, Callable[[], Part | str]]] = {
    "spectrum": lambda: spectrum(Analysis(demo_corpus().filter(question="trust"), None, 0))[0],
    "agreement": lambda: _shown("alpha", resamples=200),
    "models": lambda: spectrum(Analysis(_planted(), None, 0))[0],
    "gender": lambda: trait_figures(Analysis(demo_corpus().filter(question="trust"), None, 0))[2],
    "home": lambda: trait_figures(Analysis(_planted(), None, 0))[0],
    "readings": lambda: _shown("alpha", _planted(), by="reading", resamples=200),
    "raters": _raters,
    "needed": _needed,
    "entropy": lambda: _shown("entropy", by="question", resamples=200),
    "wright": lambda: Plots(demo_corpus()).wright("trust"),
    "robust": _robust,
}


def picture(name: str) -> str:
    """A figure of the gallery on white ground, which reads in the dark too."""
    figure = FIGURES[name]()
    assert isinstance(figure, Figure)  # noqa: S101 - the demo has what each of them needs
    return on_white(drawn(figure.draw))


def on_white(svg: str) -> str:
    """A figure with a ground of its own, and without a word about how it was made."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r"(<svg[^>]*>)", r'\1<rect width="100%" height="100%" fill="white"/>', svg, count=1)
