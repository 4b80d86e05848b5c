"""A measure of our own: `vantage measure midpoint-share FOLDER`."""

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.ratings import By, Judgments, groups


@measure("midpoint-share", family="variation")
def midpoint_share(data: Judgments, *, by: By = (), around: float = 0.0) -> pl.DataFrame:
    """The share of answers at the middle of the scale, or no further than `around` from it."""
    rows = []
    for group in groups(data, by):
        low, high = group.scale.ends if group.scale else (group.ratings.value.min(), group.ratings.value.max())
        near = np.abs(group.ratings.value - (low + high) / 2) <= around
        share = float(np.mean(near)) if len(group.ratings) else None
        reason = None if len(group.ratings) else "no answers"
        rows.append({**group.key, "estimate": share, "reason": reason, **group.counts})
    return table(rows, by)
