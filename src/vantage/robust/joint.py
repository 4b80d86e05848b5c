"""All specifications tested together: blocks of units, and the signs that they would have by chance.

Where nothing differs from the reference, a block's estimates are as likely to lie above it as below, all specifications
together (Canay, Romano and Shaikh 2017). docs/robust.md describes the test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from vantage.corpora import Corpus

BLOCK: Final = "robust_block"
"""The column of items or raters that says to which block they belong."""
DRAWN: Final = "__drawn"
MOST_BLOCKS: Final = 20
FEWEST_BLOCKS: Final = 6
"""Fewer blocks have too few signs for a p value below .05."""
EACH: Final = 4
"""A block has so many units at least."""
FLIPS: Final = 4000
LEVEL: Final = 0.05
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Blocks:
    """A corpus whose items or raters are dealt into blocks."""

    corpus: Corpus
    unit: str
    """What was dealt: items, sources, raters or groups of them."""
    number: int
    """How many blocks there are; 0 where units are too few."""

    @classmethod
    def of(cls, corpus: Corpus, used: pl.DataFrame, between: str | None, seed: int) -> Blocks:
        """Units dealt at random, as many of each group that is compared into every block.

        Those of the judgments that a claim uses are dealt first, and must suffice.
        """
        raters = between is not None and between in corpus.raters.columns and between not in corpus.items.columns
        together = corpus.design.groups if raters else corpus.design.sources
        key, table = ("rater", corpus.raters) if raters else ("item", corpus.items)
        unit = f"{key}s" if together is None else "groups" if raters else "sources"
        # What has no source or group was drawn by itself.
        drawn = pl.coalesce(pl.col(together or key).cast(pl.String), pl.col(key)).alias(DRAWN)
        table = table.with_columns(drawn)
        claimed = pl.col(key).is_in(used[key].unique().implode()).any().over(DRAWN).alias("__claimed")
        apart = between in table.columns and table.group_by(DRAWN).agg(pl.col(str(between)).n_unique())[between].max()
        strata = [str(between)] if apart == 1 else []
        units = table.select(DRAWN, *strata, claimed).unique().sort(~pl.col("__claimed"), DRAWN, *strata)
        enough = units.filter("__claimed")
        sizes = enough.group_by(strata).len()["len"].to_list() if strata else [len(enough)]
        number = min(MOST_BLOCKS, min(sizes, default=0) // (1 if together else EACH))
        if number < FEWEST_BLOCKS:
            return cls(corpus, unit, 0)
        rng, n = np.random.default_rng(seed), len(enough)
        order = [*rng.permutation(n).tolist(), *(n + rng.permutation(len(units) - n)).tolist()]
        shuffled = units[order].sort(~pl.col("__claimed"), *strata, maintain_order=True)
        dealt = shuffled.select(DRAWN, (pl.int_range(pl.len()) % number).alias(BLOCK))
        table = table.join(dealt, on=DRAWN, how="left", maintain_order="left").drop(DRAWN)
        items, people = (corpus.items, table) if raters else (table, corpus.raters)
        return cls(Corpus(items, people, corpus.judgments, corpus.instruments, corpus.about), unit, number)


@dataclass(frozen=True)
class JointTest:
    """What the specifications say together, beside what chance would have made of the same choices."""

    p: float
    share: float
    """Of specifications whose blocks alone differ from the reference."""
    share_null: float
    """The share that is exceeded in one of twenty corpora without any effect."""
    any_null: float
    """In how many corpora without any effect some specification differs."""
    blocks: int
    unit: str
    specifications: int

    @classmethod
    def of(cls, estimates: Floats, reference: float, unit: str, seed: int) -> JointTest | None:
        """The test of estimates by block and specification; null where too few blocks have estimates.

        >>> rng = np.random.default_rng(0)
        >>> shared = rng.normal(size=(20, 1))
        >>> noise, effect = (shared + level + 0.2 * rng.normal(size=(20, 40)) for level in (0, 1))
        >>> [JointTest.of(one, 0.0, "items", 0).p < 0.05 for one in (noise, effect)]
        [False, True]
        """
        apart = np.where(np.isfinite(estimates), estimates - reference, 0.0)
        there = np.isfinite(estimates).sum(axis=0)
        kept = (there >= FEWEST_BLOCKS) & (np.abs(apart).sum(axis=0) > 0)
        if not kept.any():
            return None
        apart, n = apart[:, kept], there[kept].astype(np.float64)
        rng = np.random.default_rng(seed)
        signs = np.concatenate([np.ones((1, len(apart))), rng.choice([-1.0, 1.0], size=(FLIPS, len(apart)))])
        mean, square = signs @ apart / n, np.square(apart).sum(axis=0) / n
        error = np.sqrt(np.maximum(square - np.square(mean), 1e-300) / (n - 1))
        t = mean / error
        significant = np.abs(t) > stdtrit(n - 1, 1 - LEVEL / 2)
        statistic, shares = np.abs(np.median(t, axis=1)), significant.mean(axis=1)
        # A flip of all signs is the same table: rounding must not make it smaller than what was seen.
        p = float((statistic >= statistic[0] - 1e-9).mean())
        return cls(p, float(shares[0]), float(np.quantile(shares[1:], 1 - LEVEL)),
                   float((shares[1:] > 0).mean()), len(apart), unit, int(kept.sum()))  # fmt: skip
