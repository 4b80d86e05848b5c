"""Weights of raters: how much each counts where the raters are to stand for other people, a target.

Raking (Deming and Stephan 1940) finds the weights that are closest to equal or given ones and have the margins of the
target; with bounds it is the truncated exponential of Deville and Särndal (1992). See docs/population.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, RootModel, computed_field

from vantage.corpora.schema import PEOPLE, RATERS, is_excluded
from vantage.errors import InputError, nearest

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
ROUNDS: Final = 1000
CLOSE: Final = 1e-10
"""Margins that differ by less are met."""
SEEN: Final = 0.001
"""A margin that is missed by more is said."""
UNEVEN: Final = 2.0
"""From this design effect on the weights are called uneven."""


Shares: TypeAlias = Annotated[
    Mapping[tuple[str, ...], float],
    BeforeValidator(lambda v: {tuple(one["value"]): one["share"] for one in v} if isinstance(v, list) else v),
    PlainSerializer(lambda shares: [{"value": list(value), "share": share} for value, share in shares.items()]),
]
"""Shares of values; a manifest has a list of them."""


class Margin(BaseModel):
    """The shares of the values of a trait, or of combinations of the values of several."""

    model_config = ConfigDict(frozen=True)
    traits: tuple[str, ...]
    shares: Shares

    @classmethod
    def of(cls, traits: Sequence[str], shares: Mapping[tuple[str, ...], float]) -> Margin:
        """A margin from shares, per cents or numbers of people, which need not add up exactly."""
        name, total = " × ".join(traits), sum(shares.values())
        for value, share in shares.items():
            if not (np.isfinite(share) and share >= 0):
                raise InputError(f"the share of {name} '{' × '.join(value)}' is {share:g}", remedy="use 0 or more")
        counted = all(float(share).is_integer() for share in shares.values()) and total >= 1
        if not counted and not any(abs(total / whole - 1) <= 0.02 for whole in (1.0, 100.0)):
            remedy = "use shares that add up to 1 or 100, or numbers of people"
            raise InputError(f"the shares of {name} add up to {total:g}", remedy=remedy)
        return cls(traits=tuple(traits), shares={value: share / total for value, share in shares.items()})

    def describe(self) -> str:
        """Its shares in one line."""
        shares = ", ".join(f"{' × '.join(value)} {100 * share:.3g} %" for value, share in self.shares.items())
        return f"{' × '.join(self.traits)} ({shares})"


class Target(RootModel[tuple[Margin, ...]]):
    """The people whom raters are to stand for: one or several margins.

    >>> Target.of({"gender": {"f": 51, "m": 49}}).describe()
    'gender (f 51 %, m 49 %)'
    """

    model_config = ConfigDict(frozen=True)

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins."""
        return self.root

    @classmethod
    def of(cls, given: object) -> Target:
        """A target from a file, or from a mapping of traits, or of several traits, to shares of their values."""
        if isinstance(given, Target):
            return given
        if isinstance(given, str | Path):
            return cls.read(Path(given))
        if not isinstance(given, Mapping) or not given:
            raise InputError("this is not a target", remedy="name a file, or give {'gender': {'f': 0.5, 'm': 0.5}}")
        margins = []
        for name, shares in given.items():
            traits = (name,) if isinstance(name, str) else tuple(map(str, name))
            named = {(str(v),) if not isinstance(v, tuple) else tuple(map(str, v)): float(s) for v, s in shares.items()}
            margins.append(Margin.of(traits, named))
        return cls(tuple(margins))

    @classmethod
    def read(cls, file: Path) -> Target:
        """A CSV file with `trait,value,share`, or with a column for each of several traits and their joint `share`."""
        from vantage.corpora.readers.files import find, read_csv

        table = read_csv(find(file), None).frame
        traits = [column for column in table.columns if column != "share"]
        if "share" not in table.columns or not traits or not len(table):
            remedy = "give trait,value,share, or a column for each trait and share"
            raise InputError(f"the columns are {', '.join(table.columns)}", file=file, remedy=remedy)
        words = table.select(pl.all().fill_null("").str.strip_chars())
        shares = words["share"].str.strip_suffix("%").str.strip_chars().cast(pl.Float64, strict=False)
        known: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {}
        for row, (share, cells) in enumerate(zip(shares, words.drop("share").iter_rows(named=True), strict=True), 2):
            empty = ["share"] if share is None else [name for name, cell in cells.items() if not cell]
            if empty:
                problem = "the cell is empty or not a number"
                raise InputError(problem, file=file, row=row, column=empty[0], remedy="fill it")
            long = cells.keys() == {"trait", "value"}
            margin, value = ((cells["trait"],), (cells["value"],)) if long else (tuple(traits), tuple(cells.values()))
            if value in known.setdefault(margin, {}):
                raise InputError(f"'{' × '.join(value)}' is there twice", file=file, remedy="keep one row for it")
            known[margin][value] = share
        try:
            return cls(tuple(Margin.of(margin, values) for margin, values in known.items()))
        except InputError as error:
            raise InputError(error.problem, file=file, remedy=error.remedy) from None

    @property
    def traits(self) -> list[str]:
        """The traits that it names."""
        return list(dict.fromkeys(trait for margin in self.margins for trait in margin.traits))

    def _values(self, trait: str) -> set[str]:
        """The values of a trait that it names."""
        return {v[m.traits.index(trait)] for m in self.margins if trait in m.traits for v in m.shares}

    def in_words(self, table: pl.DataFrame, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
        """The table with its traits as the target names them: numbers as the bands that hold them, such as 18-34.

        `columns` says where each trait is, if not under its own name.

        >>> target = Target.of({"age": {"18-34": 0.4, "35+": 0.6}})
        >>> target.in_words(pl.DataFrame({"age": [21, 70, None, 12]}))["age"].to_list()
        ['18-34', '35+', None, '12']
        """
        known = {trait: (columns or {}).get(trait, trait) for trait in self.traits}
        there = {trait: column for trait, column in known.items() if column in table.columns}
        return table.with_columns(_banded(table[c], self._values(trait)).alias(c) for trait, c in there.items())

    def describe(self) -> str:
        """Its margins in one line."""
        return "; ".join(margin.describe() for margin in self.margins)

    def cells(self, raters: pl.DataFrame) -> dict[tuple[str, ...], float]:
        """The share of each combination of all traits.

        Several margins are joined by raking the combinations, from how frequent they are among the raters; one that no
        rater has counts half a rater, so that it is not taken for impossible.
        """
        if len(self.margins) == 1 and list(self.margins[0].traits) == self.traits:
            return dict(self.margins[0].shares)
        cells = list(product(*(sorted(self._values(trait)) for trait in self.traits)))
        given = raters.select(as_text(raters[trait]) for trait in self.traits).rows()
        start = np.array([max(given.count(cell), 0.5) for cell in cells])
        weight = Raking.of(pl.DataFrame(cells, schema=self.traits, orient="row"), self).weights(start)
        return {cell: float(w / weight.sum()) for cell, w in zip(cells, weight, strict=True)}


def _banded(values: pl.Series, names: Iterable[str]) -> pl.Series:
    text = as_text(values)
    if not values.dtype.is_numeric():
        return text
    for name in names:
        if parts := re.fullmatch(r"(\d+)\s*(?:[-–]\s*(\d+)|\+)", name):
            inside = (values >= int(parts[1])) & (values < int(parts[2] or 10**9) + 1)
            text = text.set(inside.fill_null(value=False), name)
    return text


def as_text(values: pl.Series) -> pl.Series:
    """The values of a trait as a target names them; empty words are no value."""
    text = values.cast(pl.String).str.strip_chars()
    text = text.str.strip_suffix(".0") if values.dtype.is_float() else text
    return text.set(text == "", None)


@dataclass(frozen=True)
class Raking:
    """Raters whose weights are raked to a target, and what was noticed."""

    codes: tuple[Ints, ...]
    """For each margin the cell of each rater; the last cell is for raters without a value."""
    shares: tuple[Floats, ...]
    """The share of each cell, the last included."""
    bounds: tuple[float, float] | None
    names: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, raters: pl.DataFrame, target: Target, bounds: tuple[float, float] | None = None) -> Raking:
        """The raters' cells, with notes on values without raters and on raters without values."""
        codes, shares, names, notes = [], [], [], []
        for margin in target.margins:
            for trait in margin.traits:
                if trait not in raters.columns:
                    known = [column for column in raters.columns if column not in RATERS]
                    raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, known))
            name, values, wanted = " × ".join(margin.traits), list(margin.shares), np.array([*margin.shares.values()])
            own = raters.select(as_text(raters[trait]) for trait in margin.traits)
            place = pl.DataFrame(values, dict.fromkeys(margin.traits, pl.String), orient="row").with_row_index("__cell")
            cell = own.join(place, on=margin.traits, how="left", maintain_order="left")["__cell"]
            code = cell.fill_null(len(values)).to_numpy().astype(np.int64)
            number = np.bincount(code, minlength=len(values) + 1)
            notes += [
                f"no rater has {name} '{' × '.join(value)}' ({share:.1%} of the target): the weights speak "
                f"for the other {1 - share:.1%}"
                for value, share, there in zip(values, wanted, number, strict=False)
                if share > 0 and not there
            ]
            unnamed = own.filter(cell.is_null()).drop_nulls()
            other = sorted(" × ".join(row) for row in unnamed.unique().rows())
            if number[-1]:
                missing = int(number[-1]) - len(unnamed)
                without = f"{missing} raters have no {name}" if missing > 1 else f"1 rater has no {name}"
                parts = [without] if missing else []
                parts += [f"the target does not name {name} {', '.join(map(repr, other))}"] if other else []
                notes.append(f"{' and '.join(parts)}; raters outside the target keep their share")
            if not number[:-1].any():
                theirs = ", ".join(other[:5]) or "none"
                raise InputError(f"no rater has a {name} of the target", remedy=f"the raters have: {theirs}")
            present = np.where(number[:-1], wanted, 0.0)
            unknown = number[-1] / max(len(own), 1)
            codes.append(code)
            shares.append(np.append(present / max(present.sum(), 1e-300) * (1 - unknown), unknown))
            names.append(tuple(f"{name} '{' × '.join(value)}'" for value in values))
        return cls(tuple(codes), tuple(shares), bounds, tuple(names), tuple(dict.fromkeys(notes)))

    def weights(self, start: Floats, left_out: NDArray[np.bool_] | None = None) -> Floats:
        """The weights, of mean one over those who are not left out; these have none.

        >>> target = Target.of({"gender": {"f": 0.5, "m": 0.5}})
        >>> Raking.of(pl.DataFrame({"gender": ["f", "m", "m", "m"]}), target).weights(np.ones(4)).round(3).tolist()
        [2.0, 0.667, 0.667, 0.667]
        """
        raw = start / start.mean() if left_out is None else np.where(left_out, 0.0, start)
        raw = raw * (np.count_nonzero(raw) / raw.sum())
        total = float(np.count_nonzero(raw))
        low, high = self.bounds or (0.0, np.inf)
        for _ in range(ROUNDS):
            worst = 0.0
            for code, share in zip(self.codes, self.shares, strict=True):
                within = np.where(raw > 0, np.clip(raw, low, high), 0.0)
                now = np.bincount(code, within, len(share))
                wanted = np.where(now > 0, share, 0.0)
                wanted = wanted * (total / wanted.sum())
                factor = np.divide(wanted, now, out=np.ones_like(now), where=now > 0)
                worst = max(worst, float(np.abs(factor - 1).max()))
                # Bounds that cannot be kept would drive some weights without end.
                raw = np.where(raw > 0, np.clip(raw * factor[code], 1e-9, 1e9), 0.0)
            if worst < CLOSE:
                break
        return np.where(raw > 0, np.clip(raw, low, high), 0.0)

    def missed(self, weight: Floats) -> list[str]:
        """The margins that these weights do not have."""
        out = []
        for code, share, names in zip(self.codes, self.shares, self.names, strict=True):
            now = np.bincount(code, weight, len(share)) / weight.sum()
            out += [
                f"{name} has {there:.1%} instead of {wanted:.1%}, since the weights keep their bounds"
                for name, there, wanted in zip(names, now, share, strict=False)
                if abs(there - wanted) > SEEN
            ]
        return out


def effective(weight: Floats) -> float:
    """How many raters of equal weight are as much worth (Kish 1965).

    >>> effective(np.array([1.0, 1.0, 2.0])).__round__(2)
    2.67
    """
    return float(weight.sum() ** 2 / np.square(weight).sum()) if weight.any() else 0.0


class StoredWeights(BaseModel):
    """Where a column of weights comes from, kept with the corpus."""

    model_config = ConfigDict(frozen=True)
    target: Target
    method: str
    raters: int
    effective: float
    """How many raters of equal weight are as much worth."""
    bounds: tuple[float, float] | None = None
    base: str = ""
    """The column of weights from which raking started, where they were not equal."""
    notes: tuple[str, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def design_effect(self) -> float:
        """By how much unequal weights make the variance of a mean larger."""
        return self.raters / self.effective

    @property
    def sentences(self) -> list[str]:
        """What a reader must know."""
        lines = [
            f"The weights stand for {self.target.describe()}.",
            f"Their design effect is {self.design_effect:.2f}: {self.raters} raters are worth {self.effective:.0f}.",
        ]
        return lines + [f"{note[0].upper()}{note[1:]}." for note in self.notes]


def raked(
    raters: pl.DataFrame, name: str, target: Target, ends: Sequence[float] | None = None, base: str | None = None
) -> tuple[pl.DataFrame, StoredWeights]:
    """The raters with a column of weights, and its record; models and excluded raters have no weight."""
    if ends is not None and not (len(ends) == 2 and 0 <= ends[0] < 1 < ends[1]):
        given = " and ".join(f"{one:g}" for one in ends)
        raise InputError(f"the bounds {given} do not contain 1", remedy="use for example 0.3 and 3")
    bounds = None if ends is None else (ends[0], ends[1])
    people = raters.filter(pl.col("kind").cast(pl.String).is_in(PEOPLE))
    chosen = target.in_words(people.filter(~is_excluded()) if "excluded" in raters.columns else people)
    if not len(chosen):
        raise InputError("there are no people to weight", remedy="weights are for people, not for models")
    start = np.ones(len(chosen)) if base is None else checked_weights(chosen, base)
    raking = Raking.of(chosen, target, bounds)
    weight = raking.weights(start)
    worth, notes = effective(weight), [*raking.notes, *raking.missed(weight)]
    if len(chosen) / worth >= UNEVEN:
        notes.append("the weights are uneven: a few raters speak for many, and intervals are long")
    made: dict[str, Any] = {"target": target, "method": "raking", "raters": len(chosen), "effective": worth}
    record = StoredWeights(**made, bounds=bounds, base=base or "", notes=tuple(notes))
    column = pl.DataFrame({"rater": chosen["rater"], name: weight})
    return raters.drop(name, strict=False).join(column, on="rater", how="left", maintain_order="left"), record


def checked_weights(raters: pl.DataFrame, column: str) -> Floats:
    """A column of weights: positive numbers, for every rater."""
    if column not in raters.columns:
        known = [name for name in raters.columns if name not in RATERS]
        raise InputError(f"the raters have no weights '{column}'", remedy=nearest(column, known))
    if not raters[column].dtype.is_numeric():
        raise InputError("these are not numbers", column=column, remedy="give each rater a positive weight")
    values = raters[column].cast(pl.Float64)
    wrong = (~((values > 0) & values.is_finite())).fill_null(value=True)
    if wrong.any():
        rater, value = raters["rater"].filter(wrong)[0], values.filter(wrong)[0]
        has = "no weight" if value is None else f"the weight {value:g}"
        remedy = "weight the corpus again, or leave the rater out (models have no weights)"
        raise InputError(f"rater '{rater}' has {has}", column=column, remedy=remedy)
    return np.asarray(values.to_numpy(), dtype=np.float64)
