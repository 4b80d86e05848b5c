"""The page of an audit: effects with intervals, shares of variance, averages over presentations."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.measures import audit, balanced
from vantage.measures.audits.cards import UNKNOWN
from vantage.report.engine import Analysis
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now


@dataclass(eq=False)
class AuditAnalysis(Analysis):
    """A corpus as its audit looks at it."""

    @cached_property
    def averaged(self) -> Corpus | None:
        """The corpus with averages over presentations as further raters; null where nobody was asked in several."""
        if "presentation" not in self.corpus.judgments.columns:
            return None
        kinds = self.corpus.raters.filter(~pl.col("kind").cast(pl.String).is_in(PEOPLE))["rater"]
        counts = self.corpus.judgments.group_by("rater").agg(pl.col("presentation").drop_nulls().n_unique())
        several = counts.filter(pl.col("presentation") > 1, pl.col("rater").is_in(kinds.implode()))["rater"].sort()
        wanted = [name for name in several if name in (self.options["rater"] or several)]
        return balanced(self.corpus, wanted) if wanted else None


def audit_report(corpus: Corpus, rater: str | Sequence[str] = ()) -> Report:
    """The audit of all raters of a corpus, or of some, ready to be written: `audit_report(corpus).write("folder")`."""
    chosen = [rater] if isinstance(rater, str) else list(rater)
    title = corpus.about.title or corpus.about.name
    named = f"Response audit: {title}" if title else "Response audit"
    record = made_at_once("audit", named, corpus, options={"rater": chosen})
    analysis = AuditAnalysis(corpus.included(), {"rater": chosen})
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], file="audit.yaml")
    result = recipe.result(analysis, warnings=tuple(unknown(audit(analysis.corpus, rater=chosen))))
    record.finished = now()
    return Report(record, result)


def unknown(effects: pl.DataFrame) -> Iterator[str]:
    """Whose judgments do not say how they were presented."""
    silent = effects.filter(pl.col("reason") == UNKNOWN)["rater"].unique(maintain_order=True).to_list()
    if silent:
        yield f"{', '.join(silent)}: {UNKNOWN}."
