"""Ratings in an order of their own, so that no result depends on the order of a table's rows.

A seeded draw and a sum of floating-point numbers both depend on order. Measures that use either number
units and raters by their names first, and then give the same result, bit for bit, for every order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from vantage.measures.ratings import UNIT, Group, Ints, Ratings


@dataclass(frozen=True, slots=True)
class Named:
    """Ratings sorted by unit, rater and value, with the names behind the numbers.

    Repeated samples of one rater have that rater's number: they are one person's, or one model's, answers.
    """

    ratings: Ratings
    units: pl.DataFrame
    """Row *i* names unit *i*: its item, question and condition."""
    raters: pl.Series
    """Entry *j* names rater *j*."""


def canonical(group: Group) -> Named:
    """The answers of a group with units and raters numbered in the order of their names.

    >>> from vantage.measures.ratings import groups
    >>> rows = {"item": ["b", "a", "b"], "rater": ["z", "z", "y"], "value": [1, 2, 3]}
    >>> named = canonical(next(groups(rows)))
    >>> named.ratings.value.tolist(), named.units["item"].to_list(), named.raters.to_list()
    ([2.0, 3.0, 1.0], ['a', 'b'], ['y', 'z'])
    """
    unit, units = _numbered(group.frame, group.ratings.unit, group.ratings.units, UNIT)
    rater, raters = _numbered(group.frame, group.rater, int(group.rater.max(initial=-1)) + 1, ["rater"])
    value = group.ratings.value
    points, place = np.unique(value, return_inverse=True)
    order = np.argsort((unit * len(raters) + rater) * len(points) + place.reshape(-1), kind="stable")
    ratings = Ratings(unit[order], rater[order], value[order], len(units), len(raters))
    return Named(ratings, units, raters["rater"])


def paired(group: Group) -> Group:
    """The group without units that have a single answer, which are counted as `unpaired`.

    >>> from vantage.measures.ratings import groups
    >>> group = paired(next(groups({"item": [1, 1, 2], "rater": [1, 2, 1], "value": [0, 1, 1]})))
    >>> group.ratings.units, group.left_out
    (1, {'unpaired': 1})
    """
    ratings = group.ratings
    several = np.bincount(ratings.unit, minlength=ratings.units)[ratings.unit] > 1
    if several.all():
        return group
    unpaired = int(len(several) - several.sum())
    frame = group.frame.filter(pl.Series(several))
    return replace(group, frame=frame, left_out={**group.left_out, "unpaired": unpaired})


def _numbered(frame: pl.DataFrame, codes: Ints, count: int, columns: Sequence[str]) -> tuple[Ints, pl.DataFrame]:
    """The codes renumbered in the order of the names that they stand for, and those names."""
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    names = frame.select(columns)[first].with_row_index("code").sort(*columns)
    number = np.empty(count, dtype=np.int64)
    number[names["code"].to_numpy()] = np.arange(count)
    return number[codes], names.drop("code")
