"""Traits of raters have scales: nominal (gender), ordered (age bands, education) or numeric (age in years).

A scale is declared with the corpus (`Corpus.with_trait_scales`, `--trait age:ordered`) or inferred from the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora.orders import UNPLACED, known_order
from vantage.errors import InputError, nearest

TraitLevel = Literal["nominal", "ordered", "numeric"]
LEVELS: Final[tuple[TraitLevel, ...]] = get_args(TraitLevel)
MOST: Final = 50
"""More different words than this are not looked through for an order."""


@dataclass(frozen=True, slots=True)
class TraitScale:
    """On what scale a trait of raters is."""

    level: TraitLevel
    order: tuple[str, ...] = ()
    """Its values as text from the lowest to the highest where they have an order; others, such as "prefer not to say",
    have no place in it. A nominal trait may have one too: that in which its values are shown."""

    @classmethod
    def of(cls, given: object) -> TraitScale:
        """A scale from a level, from the order of an ordered trait, or from what a manifest says.

        >>> TraitScale.of("numeric"), TraitScale.of(["low", "high"])
        (TraitScale(level='numeric', order=()), TraitScale(level='ordered', order=('low', 'high')))
        """
        if isinstance(given, TraitScale):
            return given
        if isinstance(given, str):
            level, _, order = given.partition(":")
            return cls.of({"level": level, "order": [word.strip() for word in order.split(",") if word.strip()]})
        if isinstance(given, Mapping):
            if given.get("level") not in LEVELS:
                raise InputError(f"a trait cannot be '{given.get('level')}'", remedy=f"use {', '.join(LEVELS)}")
            return cls(given["level"], tuple(map(str, given.get("order") or ())))
        if isinstance(given, Sequence):
            return cls("ordered", tuple(map(str, given)))
        raise InputError("this is not the scale of a trait", remedy=f"use {', '.join(LEVELS)} or a list in order")

    def describe(self) -> str:
        """The level, and for an ordered trait its values.

        >>> TraitScale("ordered", ("18-24", "25-34", "35+")).describe()
        'ordered (18-24 < 25-34 < 35+)'
        """
        return f"ordered ({' < '.join(self.order)})" if self.level == "ordered" and self.order else self.level


def inferred_scale_of(values: pl.Series) -> TraitScale:
    """The scale that the values of a trait are on, as far as they tell.

    >>> inferred_scale_of(pl.Series([31, 44, 52])).level, inferred_scale_of(pl.Series(["f", "m", "d"])).level
    ('numeric', 'nominal')
    >>> inferred_scale_of(pl.Series(["65+", "18-24", "25-64", "prefer not to say"])).order
    ('18-24', '25-64', '65+')
    """
    if values.dtype.is_nested() or values.dtype in (pl.Boolean, pl.Binary, pl.Object):
        return TraitScale("nominal")
    if isinstance(values.dtype, pl.Enum):
        used = set(values.drop_nulls().unique())
        return TraitScale("nominal", tuple(word for word in values.dtype.categories if word in used))
    if values.dtype.is_temporal():
        return TraitScale("nominal")
    known = values.drop_nulls()
    different = known.unique()
    words = different.cast(pl.String)
    numbers = words.cast(pl.Float64, strict=False)
    if len(numbers) and not numbers.null_count():
        leading = (words.str.len_chars() > 1) & words.str.starts_with("0") & ~words.str.contains(r"\.")
        identifiers = leading.any() or _are_identifiers(numbers.sort(), len(known))
        # Two codes are two groups, whatever they are called.
        return TraitScale("nominal" if identifiers or len(numbers) < 3 else "numeric")
    if len(words) > MOST:
        return TraitScale("nominal")
    order = known_order([word for word in words.sort() if not UNPLACED.fullmatch(word.strip().replace("_", " "))])
    return TraitScale("ordered", tuple(order)) if order else TraitScale("nominal")


def _are_identifiers(numbers: pl.Series, raters: int) -> bool:
    """Whether whole numbers only tell raters apart: all different, and a running number or very long."""
    if len(numbers) < max(raters, 6) or (numbers % 1 != 0).any():
        return False
    running = bool((numbers.diff().drop_nulls() == 1).all()) and numbers[0] in (0, 1)
    return running or float(numbers[0]) >= 1e7


def scales_of(raters: pl.DataFrame, traits: Iterable[str], declared: Mapping[str, TraitScale]) -> dict[str, TraitScale]:
    """The scale of every trait: as declared, completed by what the values tell, or inferred."""
    scales = {}
    for trait in traits:
        scale = declared.get(trait)
        if scale is None or (scale.level == "ordered" and not scale.order):
            inferred = inferred_scale_of(raters[trait])
            scale = inferred if scale is None else TraitScale("ordered", inferred.order or _sorted(raters[trait]))
        scales[trait] = scale
    return scales


def _sorted(values: pl.Series) -> tuple[str, ...]:
    """The values of a trait by their size, or by the alphabet."""
    return tuple(values.drop_nulls().unique().sort().cast(pl.String).str.strip_suffix(".0"))


def declared_scales(raters: pl.DataFrame, traits: Sequence[str], given: Mapping[str, object]) -> dict[str, TraitScale]:
    """Scales as a user gives them; a trait or value that is not there is refused, and so are words without an order."""
    scales = {}
    for trait, how in given.items():
        if trait not in traits:
            raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, traits))
        scale, values = TraitScale.of(how), raters[trait]
        different = set(_sorted(values)) if not values.dtype.is_nested() else set()
        if unknown := next((word for word in scale.order if word not in different), None):
            raise InputError(f"no rater has {trait} '{unknown}'", remedy=nearest(unknown, sorted(different)))
        if scale.level == "numeric" and not values.dtype.is_numeric():
            raise InputError(f"the values of '{trait}' are not all numbers", remedy="use ordered or nominal")
        if scale.level == "ordered" and not scale.order and not values.dtype.is_numeric():
            order = inferred_scale_of(values).order
            if not order:
                example = ",".join(sorted(different)[:3])
                remedy = f"give it from the lowest to the highest, as in --trait '{trait}:ordered:{example}'"
                raise InputError(f"the order of the values of '{trait}' is not known", remedy=remedy)
            scale = TraitScale("ordered", order)
        scales[trait] = scale
    return scales


def to_plain(scales: Mapping[str, TraitScale]) -> dict[str, Any]:
    """Scales as a manifest holds them."""
    return {trait: {"level": s.level, **({"order": list(s.order)} if s.order else {})} for trait, s in scales.items()}
