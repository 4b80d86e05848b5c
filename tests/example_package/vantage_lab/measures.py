"""A measure of our own: `vantage measure midpoint-share FOLDER`."""

import numpy as np
import polars as pl

from vantage.measures.base import measure, table
from vantage.measures.parts import parts
from vantage.measures.ratings import By, Judgments


@measure("midpoint-share", family="variation")
def midpoint_share(data: Judgments, *, by: By = (), around: float = 0.0) -> pl.DataFrame:
    """The share of answers at the middle of the scale, or no further than `around` from it."""
    rows = []
    for part in parts(data, by):
        scale, value = part.scale(), part.answered["value"].to_numpy()
        low, high = part.ends if scale is None else scale.ends
        near = np.abs(value - (low + high) / 2) <= around
        share = float(np.mean(near)) if len(value) else None
        reason = None if len(value) else "no answers"
        rows.append({**part.key, "estimate": share, "reason": reason, **part.counts})
    return table(rows, by)
