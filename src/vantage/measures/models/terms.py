"""The fixed and random parts of a model of ratings: from a table with traits to a matrix of contrasts.

Categorical terms are coded as deviations from the mean of their levels, so that the intercept is the grand mean and
an answer of a model, which has no gender, can stand at the mean of all levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from vantage.corpora import PEOPLE, TraitScale, inferred_scale_of
from vantage.errors import InputError, nearest
from vantage.measures.codes import encode
from vantage.measures.parts import linked_values
from vantage.measures.ratings import Floats, Ints

SINGLED: Final = 20
"""Raters of a kind other than people are levels of their own up to this number, and random effects beyond."""
KIND: Final = "kind"


@dataclass(frozen=True, slots=True)
class Term:
    """A fixed effect: its columns in the matrix and, one row per level, the contrasts that give the level's effect."""

    name: str
    levels: list[str]
    base: str
    columns: Ints
    contrasts: Floats
    code: Ints
    """The level of each answer; −1 where it has none."""
    number: Floats | None = None
    """The standardised value of each answer, where the term is a slope."""
    of_raters: bool = True
    """Whether it is constant within raters."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table of answers, ready to be fitted."""

    frame: pl.DataFrame
    matrix: Floats
    terms: list[Term]
    codes: dict[str, Ints]
    """The random effects: the level of each answer by name, −1 where it has none."""
    left_out: dict[str, int]


def prepare(
    answered: pl.DataFrame,
    traits: Sequence[str],
    interactions: Sequence[str],
    base: Mapping[str, str],
    scales: Mapping[str, TraitScale],
    *,
    kinds: bool,
) -> Prepared:
    """The matrices of a model: answers without a trait are left out and counted."""
    kind = pl.col(KIND).cast(pl.String) if kinds else pl.lit("person")
    frame = answered.with_columns(__person=kind.is_in(PEOPLE), __kind=kind)
    others = frame.filter(~pl.col("__person")).group_by("__kind").agg(pl.col("rater").n_unique())
    crowds = others.filter(pl.col("rater") > SINGLED)["__kind"].to_list()
    if not frame["__person"].any():
        # Without people the models are the raters, and their differences are what is random.
        frame = frame.with_columns(__person=pl.lit(value=True))
    person = pl.when(pl.col("__person")).then(pl.lit("person"))
    crowd = pl.col("__kind").is_in(crowds)
    named = person.when(crowd).then(pl.col("__kind")).otherwise(pl.col("rater").cast(pl.String))
    frame = frame.with_columns(__kind=named, __random=pl.col("__person") | pl.col("__kind").is_in(crowds))
    whole = len(frame)
    known = [pl.col(trait).is_not_null() for trait in traits]
    frame = frame.filter(~pl.col("__person") | pl.all_horizontal(pl.lit(value=True), *known))
    left_out = {"no_trait": whole - len(frame)}
    numeric = [trait for trait in traits if scale_of(frame, trait, scales).level == "numeric"]
    for trait in traits:
        if trait in numeric:
            continue
        if owner(frame, trait) == "item":
            continue
        sizes = frame.filter("__person").drop_nulls(trait).group_by(trait).agg(pl.col("rater").n_unique())
        if len(sizes) > 1 and (sizes["rater"] < 2).all():
            raise InputError(
                f"every value of trait '{trait}' belongs to a single rater, so the trait is the rater",
                remedy="group its values into fewer, or leave the trait out",
            )
        _check_shared(frame, trait)
    terms, columns = [], [np.ones(len(frame))]
    for trait in traits:
        if trait in numeric:
            terms.append(_number(frame, trait, columns))
        else:
            terms.append(_levels(frame, trait, frame[trait].cast(pl.String), columns, base.get(trait)))
    if frame["__kind"].n_unique() > 1:
        terms.append(_levels(frame, KIND, frame["__kind"], columns, base.get(KIND, "person")))
    if frame["condition"].n_unique() > 1:
        terms.append(_levels(frame, "condition", frame["condition"], columns, base.get("condition")))
    matrix = np.column_stack(columns)
    _check_rank(matrix, terms)
    width = matrix.shape[1]
    terms = [replace(t, contrasts=np.pad(t.contrasts, ((0, 0), (0, width - t.contrasts.shape[1])))) for t in terms]
    item = encode(frame, ["item", "question"])
    rater = np.full(len(frame), -1, dtype=np.int64)
    random = frame["__random"].to_numpy()
    rater[random] = encode(frame.filter("__random"), ["rater"])
    codes = {"item": item, "rater": rater}
    for interaction in interactions:
        codes |= _interaction(interaction, item, terms)
    return Prepared(frame, matrix, terms, codes, {name: n for name, n in left_out.items() if n})


def columns_of(frame: pl.DataFrame, traits: Sequence[str]) -> Floats | None:
    """The columns of traits that are held constant; null where there are none."""
    columns: list[Floats] = []
    for trait in traits:
        if frame[trait].n_unique() < 2:
            continue
        if scale_of(frame, trait, {}).level == "numeric":
            columns.append(frame[trait].cast(pl.Float64).to_numpy())
            continue
        code = encode(frame, [trait])
        columns += [(code == level).astype(np.float64) for level in range(1, int(code.max()) + 1)]
    return np.column_stack(columns) if columns else None


def _check_shared(frame: pl.DataFrame, trait: str) -> None:
    """Refuses a trait whose values share no item: its effect could be that of the items."""
    groups = linked_values(frame, trait, ["item", "question"])
    if len(groups) > 1:
        first, second, *_ = sorted(str(min(group, key=str)) for group in groups)
        raise InputError(
            f"raters with {trait} '{first}' and with '{second}' share no item, so it may be the items that differ",
            remedy="leave the trait out, or compare raters who judged the same items",
        )


def scale_of(frame: pl.DataFrame, trait: str, scales: Mapping[str, TraitScale]) -> TraitScale:
    """The scale of a trait: the known one, or what the values tell."""
    return scales.get(trait) or inferred_scale_of(frame.unique(owner(frame, trait), maintain_order=True)[trait])


def owner(frame: pl.DataFrame, column: str) -> str:
    """Whose property a column is: the items' where each has one value and raters have several, else the raters'."""
    several = {unit: frame.group_by(unit).agg(pl.col(column).drop_nulls().n_unique()) for unit in ("item", "rater")}
    varies = {unit: bool((of_unit[column] > 1).any()) for unit, of_unit in several.items()}
    return "item" if varies["rater"] and not varies["item"] else "rater"


def _number(frame: pl.DataFrame, trait: str, columns: list[Floats]) -> Term:
    of_owner = frame.filter("__person").unique(owner(frame, trait))[trait].cast(pl.Float64)
    mean, spread = float(of_owner.mean() or 0), float(of_owner.std() or 1)  # type: ignore[arg-type]
    value = ((frame[trait].cast(pl.Float64) - mean) / spread).fill_null(0.0).to_numpy()
    place = len(columns)
    columns.append(value)
    contrasts = np.zeros((2, place + 1))
    contrasts[1, place] = 1.0
    code = np.where(frame["__person"].to_numpy() & frame[trait].is_not_null().to_numpy(), 0, -1)
    levels = [f"{mean:.3g}", f"{mean + spread:.3g}"]
    return Term(trait, levels, levels[0], np.array([place]), contrasts, code, value, _constant(frame, trait))


def _levels(frame: pl.DataFrame, name: str, values: pl.Series, columns: list[Floats], base: str | None) -> Term:
    """A term with one level per value, coded as deviations from their mean."""
    levels = values.drop_nulls().unique().sort().to_list()
    if len(levels) < 2:
        only = f"('{levels[0]}')" if levels else "(none)"
        raise InputError(f"trait '{name}' has only one level {only}", remedy="leave it out")
    if base is not None and base not in levels:
        raise InputError(f"trait '{name}' has no level '{base}' to compare with", remedy=nearest(base, levels))
    place = {level: number for number, level in enumerate(levels)}
    code = values.replace_strict(place, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    start = len(columns)
    columns.extend((code == number).astype(np.float64) - (code == len(levels) - 1) for number in range(len(levels) - 1))
    contrasts = np.zeros((len(levels), len(columns)))
    contrasts[: len(levels) - 1, start:] = np.eye(len(levels) - 1)
    contrasts[-1, start:] = -1.0
    common = values.drop_nulls().alias("value").value_counts()
    first = base or str(common.sort("count", "value", descending=[True, False])["value"][0])
    own = frame.with_columns(values.alias("__own"))
    return Term(name, levels, first, np.arange(start, len(columns)), contrasts, code, None, _constant(own, "__own"))


def _constant(frame: pl.DataFrame, column: str) -> bool:
    per_rater = frame.group_by("rater").agg(pl.col(column).drop_nulls().n_unique().alias("n"))
    return bool((per_rater["n"] <= 1).all())


def _interaction(name: str, item: Ints, terms: Sequence[Term]) -> dict[str, Ints]:
    trait = name.removeprefix("item:")
    known = {term.name: term for term in terms if term.number is None}
    if trait not in known or not name.startswith("item:"):
        choices = [f"item:{one}" for one in known] or ["none: there is no trait with levels"]
        raise InputError(f"interaction '{name}' is not possible", remedy=nearest(name, choices))
    code = known[trait].code
    pairs, there = item * (int(code.max()) + 1) + code, code >= 0
    out = np.full(len(item), -1, dtype=np.int64)
    out[there] = np.unique(pairs[there], return_inverse=True)[1]
    return {f"item × {trait}": out}


def _check_rank(matrix: Floats, terms: Sequence[Term]) -> None:
    """Refuses a term that the terms before it determine."""
    upper = np.linalg.qr(matrix, mode="r")
    lost = np.abs(np.diagonal(upper)) < 1e-8 * max(1.0, float(np.abs(upper).max()))
    for term in terms:
        if lost[term.columns].any():
            remedy = f"leave out '{term.name}' or one of the others"
            raise InputError(
                f"'{term.name}' cannot be told apart from the other terms: the same raters share their levels",
                remedy=f"choose one {term.name} with where" if term.name in (KIND, "condition") else remedy,
            )
