"""Dawid–Skene and MACE: ours beside crowd-kit.

Run with `python -m benchmarks aggregation`. crowd-kit's restarts of MACE are identical
and its answer depends on the order of rows, so only its time is compared; our Dawid–Skene gives its labels
after as many steps.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.harness import Taken
from benchmarks.split_half import Rows, ratings, taken
from vantage.measures.aggregation.labels import aggregate
from vantage.measures.aggregation.latent_classes import dawid_skene
from vantage.measures.ratings import canonical, judgments_frame


def our_dawid_skene(rows: Rows, steps: int | None = None) -> list[float]:
    """Labels in the order of items; `steps` fixes the number of EM steps, to compare label by label."""
    if steps is None:
        return aggregate(pl.DataFrame(rows), method="dawid-skene")["value"].to_list()
    named = canonical(judgments_frame(pl.DataFrame(rows)))
    labels: list[float] = dawid_skene(named.ratings, iterations=steps, tolerance=-np.inf).labels.tolist()
    return labels


def our_mace(rows: Rows) -> list[float]:
    return aggregate(pl.DataFrame(rows), method="mace")["value"].to_list()


def peer(rows: Rows, model: str) -> tuple[list[float], int]:
    """Labels in the order of items, and how many EM steps were made."""
    data = pd.DataFrame({"task": rows["item"], "worker": rows["rater"], "label": rows["value"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted: Any = getattr(import_module("crowdkit.aggregation"), model)().fit(data)
    return [float(v) for v in fitted.labels_.sort_index()], len(getattr(fitted, "loss_history_", ()))


def main() -> None:
    load = partial(ratings, 10_753, 5, 819)
    rows = load()
    print(f"aggregation by models of the raters, {len(rows['value']):,} ratings")
    print(f"{'case':36} {'seconds':>8} {'ratio':>7} {'MB':>6}")
    theirs = taken(partial(peer, model="DawidSkene"), load)
    labels, steps = theirs.result
    _print("crowd-kit, Dawid–Skene", theirs, theirs)
    got = taken(our_dawid_skene, load)
    _print("ours, Dawid–Skene", got, theirs)
    same = np.mean(np.array(got.result) == np.array(labels))
    after = np.mean(np.array(our_dawid_skene(rows, steps)) == np.array(labels))
    print(f"  the same labels: {same:.2%} each with its own stopping rule, {after:.2%} after {steps} steps each")
    theirs = taken(partial(peer, model="MACE"), load)
    _print("crowd-kit, MACE, 10 restarts", theirs, theirs)
    _print("ours, MACE, 10 restarts", taken(our_mace, load), theirs)
    more = partial(ratings, 200_000, 5, 10_000)
    for name, case in (("Dawid–Skene", our_dawid_skene), ("MACE, 10 restarts", our_mace)):
        _print(f"ours, {name}, 1,000,000", taken(case, more))


def _print(name: str, got: Taken, beside: Taken | None = None) -> None:
    ratio = f"{beside.seconds / got.seconds:6.0f}x" if beside else f"{'':7}"
    print(f"{name:36} {got.seconds:8.2f} {ratio} {got.megabytes:6.0f}")


if __name__ == "__main__":
    main()
