"""The small corpus that comes with the package: invented sentences with synthetic ratings."""

from __future__ import annotations

from importlib import resources

from vantage.corpora.corpus import About, Corpus


def demo_corpus() -> Corpus:
    """Thirty invented sentences with synthetic ratings of trust, sociability and competence.

    Nine raters, one of whom answers without reading. For trying things out, never for a finding.

    >>> demo_corpus()
    Corpus(demo: 30 items, 9 raters, 741 judgments, questions trust, sociability, competence)
    """
    from vantage.corpora.readers.table import read

    with resources.as_file(resources.files("vantage.corpora.bundled") / "demo.csv") as path:
        corpus = read(
            path,
            map={"text": "text", "target": "target"},
            traits=["age", "gender"],
            instrument="warmth-competence",
        )
    corpus.about = About(
        name="demo",
        title="Thirty sentences about neighbours (synthetic ratings)",
        source="bundled with Vantage",
        licence="Apache-2.0",
        language="en",
        notes=("The ratings are synthetic; rater r9 was made to answer without reading.",),
    )
    return corpus
