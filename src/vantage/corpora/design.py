"""The sampling design of a corpus: which items and which raters were drawn together.

A number generalises to other texts only as far as its texts are a sample of them. Twelve conversations of five posts
each are twelve draws, not sixty: posts of one conversation are alike. Whoever declares that once, with the corpus, gets
intervals and tests over conversations everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from vantage.corpora import Corpus

LEAST_SOURCES: Final = 6
"""A column with fewer values is taken for a property of items that someone chose, not for a sample of sources."""
ALIKE: Final = 0.1
"""From this share of the variance of items' means between values on, items of one value are called alike."""


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """Columns that tell what was drawn together; null where items, or raters, were drawn one by one.

    >>> from vantage import demo_corpus
    >>> demo_corpus().design
    SamplingDesign(sources=None, groups=None)
    """

    sources: str | None = None
    """A column of the items, such as conversation, document or author."""
    groups: str | None = None
    """A column of the raters, such as class, team or block."""

    def __bool__(self) -> bool:
        """Whether anything is declared."""
        return self.sources is not None or self.groups is not None

    def checked(self, items: pl.DataFrame, raters: pl.DataFrame) -> SamplingDesign:
        """The design, whose columns must be there."""
        for column, table, holds in ((self.sources, items, "items"), (self.groups, raters, "raters")):
            if column is not None and column not in table.columns:
                known = [name for name in table.columns if name not in ("item", "rater", "text")]
                raise InputError(
                    f"the {holds} have no column '{column}' that says what was drawn together",
                    remedy=nearest(column, known) if known else f"add it to the {holds}",
                )
        return self


def likely_sources(corpus: Corpus) -> list[str]:
    """Undeclared columns of the items that look like sources: many items to a value, and answers alike within.

    For each question, the share of the variance of items' means that lies between the values is estimated as in a
    one-way analysis of variance; the largest over questions counts.

    >>> from vantage import demo_corpus
    >>> likely_sources(demo_corpus())
    []
    """
    if corpus.design.sources is not None:
        return []
    candidates = [column for column in corpus.items.columns if _may_be_source(corpus.items[column])]
    if not candidates:
        return []
    answered = corpus.scan().filter(pl.col("value").is_not_null())
    means = answered.group_by("question", "item").agg(pl.col("value").mean()).collect(engine="streaming")
    likely = []
    for column in candidates:
        known = means.join(corpus.items.select("item", pl.col(column).alias("__source")).drop_nulls(), on="item")
        shares = [_share(part) for (_,), part in known.partition_by("question", as_dict=True).items()]
        if max(shares, default=0.0) >= ALIKE:
            likely.append(column)
    return likely


def _may_be_source(values: pl.Series) -> bool:
    """Whether a column has several values with several items each."""
    if values.name in ("item", "text") or values.dtype.is_float() or values.dtype.is_nested():
        return False
    known = values.drop_nulls()
    return LEAST_SOURCES <= known.n_unique() <= len(known) / 2


def undeclared(corpus: Corpus) -> list[str]:
    """One sentence for each column that looks like a source and is not declared."""
    return [
        f"Items of the same {column} get answers alike: intervals over items are too narrow unless that is declared "
        f"(vantage corpora design CORPUS --sources {column})."
        for column in likely_sources(corpus)
    ]


def _share(means: pl.DataFrame) -> float:
    """The share of the variance of items' means between sources, in units of what chance would bring: 0 within that."""
    sizes = means.group_by("__source").agg(pl.len().alias("n"), pl.col("value").mean().alias("mean"))
    total, sources = len(means), len(sizes)
    if sources < LEAST_SOURCES or total <= sources:
        return 0.0
    n, of_source = sizes["n"].to_numpy(), sizes["mean"].to_numpy()
    between = float(n @ (of_source - means["value"].mean()) ** 2) / (sources - 1)
    joined = means.join(sizes, on="__source")
    within = float(((joined["value"] - joined["mean"]) ** 2).sum()) / (total - sources)
    if within <= 0:
        return 1.0 if between > 0 else 0.0
    from scipy.stats import f

    # Several columns and questions are looked at, so that chance must be ruled out by a wide margin.
    if f.sf(between / within, sources - 1, total - sources) > 0.001:
        return 0.0
    usual = (total - float(n @ n) / total) / (sources - 1)
    apart = (between - within) / usual
    return float(apart / (apart + within))
