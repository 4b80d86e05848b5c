"""Multilevel regression of answers on the traits of raters, and what it predicts for cells of people.

The model is a cumulative logit (two answers: a logit) with random effects of items, raters, traits, their combination,
and of items by traits (Gelman and Little 1997). A cell that few raters fill is drawn towards what its traits and the
item have in common with others; one that nobody fills is predicted from these alone. How sure that is comes from draws
of the effects, given the working response at their mode, and of their standard deviations, which a Gibbs sampler finds
(Gelfand et al. 1990) under a weak prior: few groups say little about how much groups differ. Where all raters have the
same value of a trait, other values are as far from it as the prior allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from vantage.corpora import as_text
from vantage.measures.models.crossed import DENSE, Crossed, Factored, few_threads
from vantage.measures.models.cumulative import FLOOR, Cumulative, CumulativeFit
from vantage.measures.ratings import Floats, Ints

Cell: TypeAlias = tuple[str, ...]
SAMPLE: Final = 60
"""Standard deviations are estimated from this many items, drawn at random, where there are more."""
SPREADS: Final = 24
"""How many sets of standard deviations are drawn, and how many sets of effects for each."""
EFFECTS: Final = 12
BURN, THIN = 20, 5
PRIOR: Final = (1.0, 1.0)
"""Degrees of freedom and size of what is held likely of a standard deviation before looking, on the logit scale."""
LEVEL: Final = 5.0
"""The standard deviation of the common level, as good as unknown."""
NODES: Final = 21
CHECKED: Final = 4000
"""On this many answers, draws are checked against what raters said."""
WITHOUT_ITEMS: Final = "there are too many items for effects of traits on single items, which the model leaves out"


@dataclass(frozen=True)
class _Factor:
    """One kind of random effect: what its levels are combinations of, that of each answer, and what they are called."""

    columns: tuple[str, ...]
    code: Ints
    names: Mapping[tuple[object, ...], int]

    @classmethod
    def of(cls, table: Mapping[str, Sequence[object]], *columns: str) -> _Factor:
        """The combinations of values in some columns; −1 where one of them is unknown."""
        keys = list(zip(*(table[column] for column in columns), strict=True))
        names = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if None not in key))}
        return cls(columns, np.array([names.get(key, -1) for key in keys], dtype=np.int64), names)


@dataclass(frozen=True)
class CellModel:
    """The model of the answers to one question, fitted.

    `items` and `cells` are numbered in the order given; `answers` are the codes of the answers, from low to high.
    """

    items: list[str]
    traits: Sequence[str]
    factors: Mapping[str, _Factor]
    fit: CumulativeFit
    spreads: Floats
    single: Mapping[int, str]
    """Traits, by their number, of which the raters have one value, and that value; nothing where it is not known."""
    seed: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, answered: pl.DataFrame, traits: Sequence[str], value: Floats, seed: int = 0) -> CellModel:
        """The model of answers with a column for each trait; `value` has their codes."""
        table = {trait: as_text(answered[trait]).to_list() for trait in traits}
        table |= {"item": answered["item"].cast(pl.String).to_list(), "rater": answered["rater"].to_list()}
        kinds: dict[str, tuple[str, ...]] = {name: (name,) for name in ("item", "rater", *traits)}
        kinds |= {"cell": tuple(traits)} if len(traits) > 1 else {}
        kinds |= {f"item × {trait}": ("item", trait) for trait in traits}
        factors = {name: _Factor.of(table, *columns) for name, columns in kinds.items()}
        single = {k: next(filter(None, table[t]), "") for k, t in enumerate(traits) if len(factors[t].names) < 2}
        factors = {name: f for name, f in factors.items() if len(f.names) > 1 or name in ("item", "rater")}
        notes: tuple[str, ...] = ()
        if Crossed([f.code for f in factors.values()]).columns > DENSE:
            factors, notes = {name: f for name, f in factors.items() if " × " not in name}, (WITHOUT_ITEMS,)
        codes, rng = [factor.code for factor in factors.values()], np.random.default_rng(seed)
        items = len(factors["item"].names)
        chosen: NDArray[np.bool_] = np.ones(len(value), dtype=np.bool_)
        if items > SAMPLE:
            drawn = np.zeros(items, dtype=np.bool_)
            drawn[rng.choice(items, SAMPLE, replace=False)] = True
            chosen = drawn[codes[0]]
            # Answers that no drawn item has are kept, so that every answer has a threshold.
            chosen |= ~np.isin(value, np.unique(value[chosen]))
        some = Crossed([_dense(code[chosen]) for code in codes])
        small = Cumulative(value[chosen], np.ones((int(chosen.sum()), 1)), some)
        full = fitted = small.fit(np.full(some.parameters, 0.5))
        if not chosen.all():
            whole = Cumulative(value, np.ones((len(value), 1)), Crossed(codes))
            full = CumulativeFit(whole, fitted.parameters, fitted.kept)
        named = [str(k[0]) for k in factors["item"].names]
        return cls(named, traits, factors, full, _spreads(fitted, rng), single, seed, notes)

    def _places(self, cells: Sequence[Cell]) -> dict[str, Ints]:
        """Of every factor but raters, the level that each item and cell has; −1, −2 … where no answer has it."""
        places = {}
        for name, factor in self.factors.items():
            if name == "rater":
                continue
            known, unseen = dict(factor.names), len(factor.names) - 1
            rows = [
                [
                    known.setdefault(
                        tuple(item if c == "item" else cell[self.traits.index(c)] for c in factor.columns),
                        unseen - len(known),
                    )
                    for cell in cells
                ]
                for item in (self.items if "item" in factor.columns else [""])
            ]
            places[name] = np.array(rows)
        return places

    def _predictor(self, effects: Mapping[str, Floats], places: Mapping[str, Ints]) -> Floats:
        """Of each item and cell, from the effects of levels that answers have, before those of levels without."""
        return sum((effects[name][place] for name, place in places.items()), np.zeros((1, 1)))

    def shares(self, cells: Sequence[Cell]) -> Floats:
        """The share of each answer by item and cell, with effects at their mode: items × cells × answers."""
        places = self._places(cells)
        modes = {name: mode for name, (mode, _) in zip(self.factors, self.fit.effects, strict=True)}
        effects = {name: np.append(modes[name], np.zeros(_unseen(place))) for name, place in places.items()}
        of_raters = float(self.fit.theta[list(self.factors).index("rater")])
        return _answers(self._predictor(effects, places), self.fit.thresholds, of_raters, NODES)

    def draws(self, cells: Sequence[Cell], weight: Floats) -> Floats:
        """Draws × items × answers × columns of `weight`, of the sums over cells (it is items × cells × columns)."""
        places, rng = self._places(cells), np.random.default_rng([self.seed, 1])
        common = np.zeros(self.fit.model.design.n, dtype=np.int64)
        design = Crossed([*(factor.code for factor in self.factors.values()), common])
        response, information = _working(self.fit)
        drawn: list[tuple[Floats, list[Floats]]] = []
        with few_threads(design.columns):
            for theta in self.spreads:
                factored = Factored(design, np.append(theta, LEVEL), information)
                drawn += [(theta, _drawn(factored, response, rng)) for _ in range(EFFECTS)]
        shift, out = self._shift(design, [effects for _, effects in drawn[::6]], rng), []
        rater = list(self.factors).index("rater")
        groups = [{"group": [value, *(cell[k] for cell in cells)]} for k, value in self.single.items()]
        unlike = [_Factor.of(group, "group").code[1:] for group in groups]
        for theta, (*own, level) in drawn:
            effects = {}
            for name, one, spread in zip(self.factors, own, theta, strict=True):
                new = _unseen(places[name]) if name in places else 0
                effects[name] = np.append(one[: len(self.factors[name].names)], rng.normal(0, spread, new))
            predictor = self._predictor(effects, places) + level[0] + shift
            for values in unlike:
                # The common level holds the effect of the value that raters have.
                apart = rng.normal(0, _likely(np.zeros(1), np.zeros(1, dtype=np.int64), rng), values.max() + 1)
                predictor = predictor + (apart - apart[0])[values]
            shares = _answers(predictor, self.fit.thresholds, float(theta[rater]), 5)
            out.append(np.einsum("uca,ucw->uaw", shares, weight))
        return np.array(out)

    def _shift(self, design: Crossed, drawn: list[list[Floats]], rng: np.random.Generator) -> float:
        """What makes the draws give the raters, on average, what they answered.

        Where an item has few answers, what is likely of its effect is skewed, and normal draws lie to one side.
        """
        from scipy.optimize import brentq

        category = self.fit.model.category
        some = rng.permutation(design.n)[:CHECKED]
        predictors = np.array([sum(e[c[some]] for e, c in zip(one, design.codes, strict=True)) for one in drawn])
        above = predictors[..., None] - self.fit.thresholds

        def excess(shift: float) -> float:
            return float(expit(above + shift).sum(axis=-1).mean() - category[some].mean())

        return float(brentq(excess, -5.0, 5.0)) if excess(-5.0) < 0 < excess(5.0) else 0.0


def _unseen(place: Ints) -> int:
    """How many levels no answer has."""
    return int(max(-place.min(), 0))


def _dense(code: Ints) -> Ints:
    """Levels that occur, numbered anew; −1 stays."""
    present = np.unique(code[code >= 0])
    return np.where(code >= 0, np.searchsorted(present, code), -1)


def _working(fit: CumulativeFit) -> tuple[Floats, Floats]:
    """The response of the linear model that has the same mode and curvature."""
    design = fit.model.design
    random = sum((mode[np.minimum(code, len(mode) - 1)] * (code < len(mode))
                  for (mode, _), code in zip(fit.effects, design.codes, strict=True)), np.zeros(design.n))  # fmt: skip
    return random + fit.scores / fit.information, fit.information


def _drawn(factored: Factored, response: Floats, rng: np.random.Generator) -> list[Floats]:
    """Effects drawn given the response: a draw without it, moved by what it leaves unexplained."""
    design = factored.design
    prior = [rng.normal(0, 1, size) * design.spread(k, factored.theta) for k, size in enumerate(design.sizes)]
    predicted = sum((u[code] for u, code in zip(prior, design.codes, strict=True)), np.zeros(design.n))
    noise = rng.normal(0, 1, design.n) / np.sqrt(factored.weight)
    moved = factored.effects(response - predicted - noise)
    return [u + m for u, m in zip(prior, moved, strict=True)]


def _spreads(fit: CumulativeFit, rng: np.random.Generator) -> Floats:
    """Draws of the standard deviations of all random effects."""
    design = fit.model.design
    with_level = Crossed([*(np.where(c < n, c, -1) for c, n in zip(design.codes, design.levels, strict=True)),
                          np.zeros(design.n, dtype=np.int64)])  # fmt: skip
    response, information = _working(fit)
    theta, kept = np.maximum(fit.theta, 0.05), []
    with few_threads(with_level.columns):
        for step in range(BURN + THIN * SPREADS):
            effects = _drawn(Factored(with_level, np.append(theta, LEVEL), information), response, rng)
            squares = np.array([float(e[:n] @ e[:n]) for e, n in zip(effects, design.levels, strict=False)])
            theta = _likely(squares, np.array(design.levels), rng)
            if step >= BURN and (step - BURN) % THIN == 0:
                kept.append(theta)
    return np.array(kept)


def _likely(squares: Floats, levels: Ints, rng: np.random.Generator) -> Floats:
    """Standard deviations drawn given the sums of squares of their effects, or from the prior where there are none."""
    freedom, size = PRIOR
    return np.clip(np.sqrt((squares + freedom * size**2) / rng.chisquare(levels + freedom)), FLOOR, 10.0)


def _answers(predictor: Floats, thresholds: Floats, spread: float, nodes: int) -> Floats:
    """The share of each answer of people whose predictors vary by `spread` around each of these."""
    z, weight = np.polynomial.hermite_e.hermegauss(nodes)
    above = np.zeros((*predictor.shape, len(thresholds)))
    for node, share in zip(z * spread, weight / weight.sum(), strict=True):
        above += share * expit(predictor[..., None] + node - thresholds)
    ends = np.zeros((*predictor.shape, 1))
    return -np.diff(np.concatenate([ends + 1, above, ends], axis=-1), axis=-1)
