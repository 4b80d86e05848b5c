"""The bundled corpora: invented sentences with synthetic ratings.

`demo_corpus` is small and for trying things out. `planted_corpus` is larger, and what is true of it is known.
"""

from __future__ import annotations

from importlib import resources

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.storage import About
from vantage.instruments import Instrument


def demo_corpus() -> Corpus:
    """Thirty invented sentences with synthetic ratings of trust, sociability and competence.

    Nine raters, one of whom answers without reading. For trying things out, never for findings.

    >>> demo_corpus()
    Corpus(demo: 30 items, 9 raters, 741 judgments, questions trust, sociability, competence)
    """
    from vantage.corpora.readers.table import read

    with resources.as_file(resources.files("vantage.corpora.bundled") / "demo.csv") as path:
        corpus = read(
            path, map={"text": "text", "target": "target"}, traits=["age", "gender"], instrument="warmth-competence"
        )
    note = "The ratings are synthetic; rater r9 was made to answer without reading."
    corpus.about = _about("demo", "Thirty sentences about neighbours (synthetic ratings)", note)
    return corpus


def planted_corpus() -> Corpus:
    """120 invented sentences, rated by 24 synthetic people and two synthetic models in whom known things are planted.

    The column `planted` of the raters and `reading` of the items hold what was planted; no measure looks at them unless
    asked. `tools/make_planted_corpus.py` holds the generative model. For trying things out, never for a finding.

    >>> planted_corpus()
    Corpus(planted: 120 items, 26 raters, 5,968 judgments, questions trust, sociability, competence)
    """
    folder = resources.files("vantage.corpora.bundled")
    items = pl.read_csv((folder / "sentences.csv").read_bytes()).select("item", "text", "target", "reading")
    raters = pl.read_csv((folder / "planted-raters.csv").read_bytes())
    judgments = pl.read_parquet((folder / "planted-ratings.parquet").read_bytes())
    note = "The sentences are invented. A program drew the ratings of 24 synthetic people and two synthetic models."
    about = _about("planted", "120 sentences about invented people (synthetic ratings)", note)
    return Corpus(items, raters, judgments, Instrument.load("warmth-competence"), about)


def _about(name: str, title: str, note: str) -> About:
    return About(name, title, "bundled with Vantage", "Apache-2.0", language="en", notes=(note,))
