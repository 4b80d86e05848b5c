"""Who differs? One analysis of groups, by the scale of a trait and by the design of the answers.

A nominal trait is compared group by group, each with all the others; an ordered one by its trend and the bend of it;
a number by its slope. Every group is described, and tested where there are people enough. The model is that of
`models.comparison`; `compare`, `explain` and reports show its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import TraitScale
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.codes import encode
from vantage.measures.intervals import Contrast, over_units
from vantage.measures.models.comparison import FEW_RATERS, Comparison, parts_of_range
from vantage.measures.multiplicity import adjusted
from vantage.measures.parts import DISJOINT, Part, counts, names, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Floats, Ints, ItemSources, Judgments, RaterGroups

ENOUGH: Final = 5
"""A group of fewer raters is described but not tested, since one person could make the difference."""
OTHERS: Final = "the others"
SAME: Final = "all answers are the same"
COUNTED: Final = {"rater": "raters", "group": "raters", "item": "items", "source": "items"}
"""What groups are made of, by the units of their design."""
PLAIN: Final = ("rater", "item", "question", "condition", "sample", "kind")
"""Columns whose values are names, whatever they look like."""
Over: TypeAlias = Literal["auto", "both", "items", "raters", "none"]

VIEW: Final = View(
    "Who differs",
    columns={
        "mean": Column(digits=2),
        "estimate": Column("difference", digits=2, signed=True, interval=("low", "high")),
        "p": Column(digits=3),
        "p_adjusted": Column("p (corrected)", digits=3),
    },
    show=("trait", "option", "group", "versus", "raters", "mean", "estimate", "p", "p_adjusted", "reason"),
    notes=(
        "A group is compared with all other raters, an ordered trait by its trend, a number by its slope.",
        f"A group of fewer than {ENOUGH} raters is described and not tested.",
    ),
    says=(
        Against(
            0.0,
            above="{higher} give higher answers than {lower}[ about {rows}]",
            below="{higher} give lower answers than {lower}[ about {rows}]",
            p="p_adjusted",
            label="{trait}: {group}",
        ),
    ),
    method="Groups were compared in a linear mixed model of items and raters, with Satterthwaite's degrees of freedom.",
    sources=("barr2013",),
)


@measure("groups", "relations", view=VIEW, follows=True)
def groups(
    data: Judgments,
    *,
    by: By = (),
    traits: By = (),
    given: By = (),
    ci: Over = "auto",
    sources: ItemSources | str | None = None,
    confidence: float = 0.95,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """Who differs? Every group of every trait, described always and tested where people suffice.

    `traits` are columns of the raters (all of them by default), or any other columns. How one is analysed follows from
    its scale (`Corpus.trait_scales`): nominal, every group against all others (`row` is `group`); ordered, the change
    per step (`trend`) and whether it bends (`shape`); numeric, the change per 1, 2, 5, 10 … (`slope`). Questions
    without an order have a block of rows for each option: its share.

    `mean` is the mean answer of a group given who judged what, `estimate` the difference from `versus_mean` in points,
    `d` the same in standard deviations of single answers, `p_adjusted` corrects over the groups of one trait and
    question (Holm 1979), and `p_trait` is the one p value of the trait. `given` are traits that are held constant.

    >>> rng = np.random.default_rng(1)
    >>> item, rater = (grid.ravel() for grid in np.indices((20, 18)))
    >>> home = np.array(["coast", "hills", "town"])[rater % 3]
    >>> value = rng.normal(size=20)[item] + rng.normal(size=18)[rater] / 4 + (home == "coast") + rng.normal(size=360)
    >>> rows = groups(pl.DataFrame({"item": item, "rater": rater, "value": value, "home": home}), traits="home")
    >>> rows.select("group", "versus", "raters", pl.col("estimate", "p_adjusted").round(3)).row(0)
    ('coast', 'the others', 6, 0.764, 0.003)
    """
    chosen = names(traits) or list(getattr(data, "traits", ()))
    if not chosen:
        raise InputError("no trait was named", remedy="pass traits, such as gender,age")
    held = names(given)
    scales = trait_scales(data)
    how: dict[str, Any] = {"sources": sources, "groups": groups, "over": ci, "confidence": confidence}
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=[*chosen, *held]):
        for trait in chosen:
            made = analysed(part, trait, scales.get(trait), given=[one for one in held if one != trait], **how)
            rows += [{**part.key, "trait": trait, **row} for row in made]
    return table(rows, names(by)).with_columns(
        pl.col(name).cast(pl.Float64) for name in ("p", "p_adjusted", "p_trait") if rows
    )


def trait_scales(data: Judgments) -> dict[str, TraitScale]:
    """The scales of the traits of a corpus; of a plain table the values tell."""
    return dict(getattr(data, "trait_scales", None) or {})


def analysed(
    part: Part, column: str, scale: TraitScale | None = None, *, values: Sequence[object] | None = None, **how: Any
) -> Iterator[dict[str, Any]]:
    """The rows of one column: of the answers, or of each option of a question without an order.

    `values` compares these values of the column alone; the other options are those of `GroupAnalysis.of`.
    """
    frame = part.frame if values is None else part.frame.filter(pl.col(column).is_in(values))
    if values is not None or column in PLAIN:
        scale = TraitScale("nominal")
    question = part.scale()
    codes = question.codes if question is not None and not question.ordered else [None]
    # Of two options the share of the second says everything, so that its rows need no name.
    binary = len(codes) == 2
    for option in codes[1:] if binary else codes:
        one = frame if option is None else frame.with_columns(value=(pl.col("value") == option).cast(pl.Float64))
        of_option = {} if option is None or binary or question is None else {"option": question.label(option)}
        yield from ({**of_option, **row} for row in GroupAnalysis.of(one, column, scale, **how).rows())


@dataclass(frozen=True)
class GroupAnalysis:
    """One column compared on one table of answers."""

    frame: pl.DataFrame
    """Answers whose value of the column is known, in the order of items, raters and samples."""
    missing: pl.DataFrame
    asked: pl.DataFrame
    column: str
    scale: TraitScale
    levels: list[Any]
    sources: ItemSources | None
    groups: RaterGroups | None
    over: str
    confidence: float
    given: Floats | None = None
    random: Ints | None = None
    """Which answers are of raters who stand for others; all of them without it."""
    base: str | None = None
    """The level that the others are compared with, instead of all other raters."""

    @classmethod
    def of(
        cls,
        asked: pl.DataFrame,
        column: str,
        scale: TraitScale | None,
        *,
        given: Sequence[str] = (),
        sources: ItemSources | str | None = None,
        groups: RaterGroups | None = None,
        over: str = "auto",
        confidence: float = 0.95,
    ) -> GroupAnalysis:
        """The analysis of a column; answers for which a column in `given` has no value are left out."""
        from vantage.measures.models.terms import columns_of, scale_of

        answered = asked.filter(pl.col("value").is_not_null())
        known = answered.drop_nulls([column, *given])
        frame = known.sort("item", "question", "condition", "rater", "sample", maintain_order=True)
        scale = scale or scale_of(frame, column, {})
        held = columns_of(frame, [name for name in (*given, "condition") if name != column])
        missing = answered.filter(pl.col(column).is_null())
        levels = _levels(frame[column], scale)
        drawn = sources if isinstance(sources, ItemSources) and sources.column != column else None
        together = groups if groups is not None and column not in (groups.column, "rater") else None
        return cls(frame, missing, asked, column, scale, levels, drawn, together, over, confidence, held)

    @cached_property
    def number(self) -> Floats | None:
        """The numbers of a numeric column, in steps of a meaningful size."""
        if self.scale.level != "numeric":
            return None
        return self.frame[self.column].cast(pl.Float64).to_numpy() / self.step

    @cached_property
    def step(self) -> float:
        """1, 2 or 5 times a power of ten: the one nearest to the standard deviation of raters, or of items."""
        from vantage.measures.models.terms import owner

        of_owners = self.frame.unique(owner(self.frame, self.column))[self.column].cast(pl.Float64)
        spread = float(of_owners.std() or 1.0)  # type: ignore[arg-type]
        power = 10.0 ** np.floor(np.log10(spread))
        return float(power * min((1, 2, 5, 10), key=lambda size: abs(np.log(spread / (power * size)))))

    @cached_property
    def code(self) -> Ints:
        """The level of each answer."""
        if self.number is not None:
            return parts_of_range(self.number)
        place = {level: n for n, level in enumerate(self.levels)}
        return self.frame[self.column].replace_strict(place, return_dtype=pl.Int64).to_numpy()

    @cached_property
    def comparison(self) -> Comparison:
        """The model."""
        frame, units = self.frame, dict[str, Ints]()
        if self.sources is not None:
            units["source"] = self.sources.codes(frame["item"])
        several = [name for name in ("question",) if name != self.column and frame[name].n_unique() > 1]
        units["item"] = encode(frame, ["item", *several])
        drawn = {} if self.groups is None else {"group": self.groups.codes(frame["rater"])}
        if self.column != "rater":
            drawn["rater"] = encode(frame, ["rater"])
        for name, code in drawn.items():
            units[name] = code if self.random is None else np.where(self.random > 0, code, -1)
        comparison = Comparison(frame["value"].to_numpy(), self.code, units, self.number, self.given)
        few = next(iter(drawn.values()), np.zeros(1)).max() + 1 < FEW_RATERS
        of_raters = ("rater", "group")
        fixed = {"items": of_raters, "raters": ("item", "source")}.get(self.over, of_raters if few else ())
        return replace(comparison, fixed_units=fixed)

    @cached_property
    def of_raters(self) -> bool:
        """Whether each rater has one value, so that groups are made of raters."""
        return "rater" in self.comparison.units and self.comparison.constant_within("rater")

    @cached_property
    def _unit(self) -> str:
        """What groups are made of: raters, or whole groups that they were drawn in, sources or items.

        Nothing where the column varies within all of them.
        """
        made = [name for name in ("group", "rater", "source", "item") if name in self.comparison.units]
        return next((name for name in made if self.comparison.constant_within(name)), "")

    @cached_property
    def sizes(self) -> Ints:
        """How many units each level has."""
        if self.number is not None:
            return np.array([self.frame["rater"].n_unique()])
        return self.comparison.sizes(self._unit or "item")

    @cached_property
    def problem(self) -> str | None:
        """Why nothing can be compared, if so."""
        if self.frame.is_empty() or len(self.levels) < 2:
            only = f" ('{self.levels[0]}')" if self.levels else ""
            return f"'{self.column}' has fewer than two values here{only}"
        if np.ptp(self.frame["value"].to_numpy()) == 0:
            return SAME
        if self.of_raters and not self._shares_items():
            return DISJOINT
        return None

    def _shares_items(self) -> bool:
        item = self.comparison.units["item"]
        pairs = np.unique(np.stack([item, self.code]), axis=1)
        return bool((np.bincount(pairs[0]) > 1).any())

    @property
    def single(self) -> bool:
        """Whether there is one comparison: two groups, or the trend or slope that was asked for."""
        return self.scale.level != "nominal" or len(self.levels) == 2

    def rows(self) -> list[dict[str, Any]]:
        """All rows: groups, trend and shape, or slope, and the answers of those whose value is not known."""
        self._check_over()
        if self.number is not None and self.problem is None:
            made = [self._slope()]
        else:
            made = [self._of_group(place) for place in range(len(self.levels))]
            if self.scale.level == "ordered" and self.problem is None:
                made = [*self._trends(), *made]
        tested = [row["p"] for row in made]
        corrected = tested if self.single else adjusted(tested, "holm")
        decisive = corrected[:1] if self.scale.level != "nominal" else corrected
        of_trait = min((p for p in decisive if p is not None), default=None)
        for row, p in zip(made, corrected, strict=True):
            row |= {"p_adjusted": p, "p_trait": of_trait, "unit": self._unit or "answer"}
        if len(self.missing):
            used = self.missing
            unknown = {"row": "missing", "group": None, "versus": None, "mean": used["value"].mean()}
            made.append({**unknown, **dict.fromkeys(("p", "p_adjusted", "p_trait")), **counts(used, used),
                         "reason": f"'{self.column}' is not known"})  # fmt: skip
        return made

    def _check_over(self) -> None:
        """Refuses an interval over what the groups are not made of."""
        made = COUNTED.get(self._unit, self.over)
        alone = self.over == "raters" and self.frame["rater"].n_unique() < 2
        if (self.over in ("items", "raters") and self.over != made) or self.over == "runs" or alone:
            units = "items" if alone else made
            raise InputError(
                f"the units of this comparison are {units}, so there is no interval over '{self.over}'",
                remedy="leave ci out",
            )

    def _of_group(self, place: int) -> dict[str, Any]:
        """One group, described, and compared with all others or with the base."""
        name, there = str(self.levels[place]), pl.Series(self.code == place)
        against = [n for n in range(len(self.levels)) if n != place]
        if self.base is not None:
            against = [self.levels.index(self.base)]
        versus = str(self.levels[against[0]]) if len(against) == 1 else OTHERS
        of_group = self.asked.filter(pl.col(self.column) == self.levels[place])
        row: dict[str, Any] = counts(self.frame.filter(there), of_group)
        row |= {"row": "group", "group": name, "versus": versus, "higher": name, "lower": versus, "p": None}
        if self.problem is not None:
            mean = self.frame.filter(there)["value"].mean() if len(self.frame) else None
            return {**row, "mean": mean, "reason": self.problem}
        if against == [place]:
            return {**row, "mean": float(self.comparison.means[place]), "reason": "the others are compared with it"}
        weights = np.zeros(len(self.levels))
        weights[against] = -self.sizes[against] / max(int(self.sizes[against].sum()), 1)
        if self.base is not None:
            weights[against] = -1.0
        weights[place] = 1.0
        means = self.comparison.means
        row |= {"mean": float(means[place]), "versus_mean": float(-(weights @ means) + means[place])}
        reason = self._too_few(place, against) if self.random is None else None
        if reason is None and not self._unit and self.base is None:
            reason = self._unmatched(place)
        result = self._stated(self.comparison.between(weights))
        if reason is not None:
            kept = {name: result[name] for name in ("estimate", "d")}
            return {**row, **kept, "reason": reason}
        if self.scale.level == "ordered":
            result |= {"p": None, "reason": "tested by the trend"}
        return {**row, **result}

    def _too_few(self, place: int, against: list[int]) -> str | None:
        """Why a group is too small to be tested, if so."""
        if min(int(self.sizes[place]), int(self.sizes[against].sum())) < 2 and self._unit != "rater":
            of = "groups of raters" if self._unit == "group" else f"{self._unit or 'item'}s"
            return f"fewer than two {of} in a group"
        if not self.of_raters:
            return None
        raters = self.comparison.sizes("rater")
        small = [(str(self.levels[place]), int(raters[place]))]
        small.append((OTHERS if len(against) > 1 else str(self.levels[against[0]]), int(raters[against].sum())))
        few = [f"'{name}' has {n} rater{'s' if n != 1 else ''}" for name, n in small if n < ENOUGH]
        return f"{' and '.join(few)}; a test needs at least {ENOUGH}" if few else None

    def _unmatched(self, place: int) -> str | None:
        """Why a column that varies within units cannot be tested: no two items or raters have both."""
        for name in ("item", "rater"):
            if (code := self.comparison.units.get(name)) is None:
                continue
            inside = np.bincount(code[code >= 0], (self.code == place)[code >= 0])
            size = np.bincount(code[code >= 0])
            if ((inside > 0) & (inside < size)).sum() >= 2:
                return None
        return "fewer than two items or raters have both"

    def _trends(self) -> Iterator[dict[str, Any]]:
        """The change per step of an ordered column, and whether it is the same between all steps."""
        order = [n for n, level in enumerate(self.levels) if str(level) in self.scale.order]
        size = self.sizes[order].astype(np.float64)
        steps = np.arange(len(order), dtype=np.float64)
        if (size > 0).sum() < 2:
            return
        linear = steps - np.average(steps, weights=size)
        bent = linear**2 - np.average(linear**2, weights=size)
        bent = bent - linear * (size * linear * bent).sum() / (size * linear**2).sum()
        for name, shape in (("trend", linear), ("shape", bent)):
            if (size * shape**2).sum() < 1e-9:
                continue
            weights = np.zeros(len(self.levels))
            weights[order] = size * shape / (size * shape**2).sum()
            row = {"row": name, "group": "per step" if name == "trend" else "bend", "versus": None}
            yield {**row, **counts(self.frame, self.asked), **self._ends, **self._tested(weights)}

    def _slope(self) -> dict[str, Any]:
        """The change of the answers with a number."""
        row = {"row": "slope", "group": f"per {self.step:g}", "versus": None, "mean": self.frame["value"].mean()}
        return {**row, **counts(self.frame, self.asked), **self._ends, **self._tested(np.array([0.0, 1.0]))}

    @property
    def _ends(self) -> dict[str, str]:
        """The two ends of a trend or a slope, in words."""
        whose = COUNTED.get(self._unit, "raters")
        return {end: f"{whose} of {end} {self.column}" for end in ("higher", "lower")}

    def _tested(self, weights: Floats) -> dict[str, Any]:
        """A trend or a slope, with a test where there are units enough."""
        result = self._stated(self.comparison.between(weights))
        total = self.frame["rater"].n_unique()
        if self.of_raters and total < 2 * ENOUGH:
            reason = f"{total} raters; the test of a trend needs at least {2 * ENOUGH}"
            return {"estimate": result["estimate"], "p": None, "reason": reason}
        return result

    def _stated(self, contrast: Contrast) -> dict[str, Any]:
        """A contrast as columns of a row."""
        values = {"estimate": contrast.estimate, "p": None}
        deviation = self.comparison.deviation
        if contrast.error <= 1e-7 * float(self.frame["value"].std() or 0):  # type: ignore[arg-type]
            return {**values, "d": None, "reason": "the differences do not vary, so there is nothing to test with"}
        values |= {"d": contrast.estimate / deviation if deviation > 0 else None}
        shown = {**contrast.stated(self.confidence), "over": self._over()} if self.over != "none" else {}
        stated = {"se": contrast.error, "df": contrast.freedom, "statistic": contrast.estimate / contrast.error}
        few = self.over == "auto" and "rater" in self.comparison.fixed_units and not self.of_raters
        because = {"because": f"about these raters: fewer than {FEW_RATERS}"} if few and shown else {}
        return {**values, **shown, **stated, "p": contrast.p, **because}

    def _over(self) -> str:
        """What a difference generalises to."""
        units, fixed = self.comparison.units, self.comparison.fixed_units
        raters = "rater" in units and "rater" not in fixed and units["rater"].max() > 0
        items = "source" if "source" in units else "item"
        alone = items in fixed or units[items].max() < 1
        return over_units("raters" if alone else "both" if raters else "items", self.sources, self.groups)


def _levels(values: pl.Series, scale: TraitScale) -> list[Any]:
    """The values of a column: in their order, those without a place in it last."""
    there = values.drop_nulls().unique().sort().to_list()
    place = {word: n for n, word in enumerate(scale.order)}
    return sorted(there, key=lambda level: place.get(str(level), len(place)))
