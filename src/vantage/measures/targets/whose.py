"""Whose label: the answers to each item under several targets, and the items whose label depends on whom you ask.

If raters of all groups answered alike, their weights could be exchanged; so the labels are counted again under weights
dealt out anew among the raters, which says how many would change by chance (a permutation test, Good 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vantage.corpora import PEOPLE, Raking, Target, as_text, effective
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.multiplicity import adjusted, dealt_anew, share_beyond
from vantage.measures.parts import Part, counts, names, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Floats, Ints, Judgments, RaterGroups, has_column
from vantage.measures.targets.poststratify import target_of, trait_columns
from vantage.scales import show_code

Per: TypeAlias = Literal["target", "item", "model"]
ENOUGH: Final = 5
"""Groups of fewer people are never shown, since their answers could be traced to a person."""
SEEN: Final = 0.05
TRACE: Final = 1e-6
AT_ONCE: Final = 2**23
"""How many shares are held at a time."""

SHOWN: Final = ("item", "target", "rater", "effective", "items", "changed", "expected", "raters_label", "label",
                "depends", "answer", "raw", "estimate", "floor", "skill", "p_adjusted", "reason")  # fmt: skip
VIEW: Final = View(
    "Whose label",
    columns={
        "estimate": Column("beyond chance", percent=True, digits=1, signed=True),
        "changed": Column("labels that change"),
        "expected": Column("by chance", digits=1),
        "p": Column(digits=3),
        "p_adjusted": Column("p (corrected)", digits=3),
        "effective": Column("worth raters", digits=0),
        "skill": Column(percent=True, digits=0),
    },
    show=SHOWN,
    chart="points",
    chart_options={
        "category": "target",
        "value": "expected",
        "low": "chance_from",
        "high": "chance_to",
        "expected": "changed",
        "expected_label": "labels that change",
        "value_label": "by chance, with 95 % range",
        "label": "items",
    },
    notes=(
        "A label is the most frequent answer. It changes if the target's label is not among the raters' own most "
        "frequent answers. Chance is what the same weights give when they are assigned to raters at random.",
        f"Groups of fewer than {ENOUGH} people are not shown.",
    ),
    says=(
        Against(
            0.0,
            above="The label depends on whom you ask: more labels change than by chance under {rows}",
            p="p_adjusted",
            label="{target}",
            result="{changed} of {items} items, {expected} by chance",
        ),
        Against(
            0.0,
            above="Closer to a target than to weights at random, and than a rater that never reads: {rows}",
            value="skill",
            p="p_adjusted",
            label="{rater} to {target}",
            result="{skill} closer than such a rater",
        ),
    ),
    method="Labels were compared between targets by weighting raters, and with those of permuted weights.",
    sources=("good2005",),
)


@measure("whose-label", "population", view=VIEW, pools=False)
def whose_label(
    data: Judgments,
    *,
    by: By = (),
    target: str | Target | Mapping[Any, Any] | None = None,
    traits: By = (),
    per: Per = "target",
    permutations: int = 1000,
    seed: int = 0,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """Whose label is it: under which targets the most frequent answer to an item is another.

    The targets are `target`, the name of weights of the corpus or a file of shares, and every group of the `traits`
    (those of the target by default, else all). With `per="target"` there is a row for each: how many labels change from
    those of the raters as they are (`changed`), how many would by chance (`expected`), the share of items beyond chance
    (`estimate`), and a p value from permutations, corrected over targets (Holm 1979).

    With `per="item"` there is a row for each item, target and answer, with the shares under both; `depends` says where
    the label changes and its share differs beyond chance. With `per="model"` there is a row for each model and target:
    `estimate` is how far the model's answers are from the target's shares (total variation), `floor` the same of the
    best rater that never reads, `skill` one minus their quotient, and p whether the model is closer to this target than
    to weights dealt out at random. What fewer than five people answered is not shown, nor what would tell it: where all
    but a few people of an item are shown by groups of a trait, the smallest of these is left out.

    >>> rng = np.random.default_rng(1)
    >>> item, rater = (grid.ravel() for grid in np.indices((20, 30)))
    >>> age = np.where(rater < 20, "young", "old")
    >>> value = (rng.random(600) < np.where(age == "old", 0.9, 0.2)).astype(float)
    >>> rows = whose_label(pl.DataFrame({"item": item, "rater": rater, "value": value, "age": age}), traits="age")
    >>> rows.select("target", "changed", "p_adjusted").row(0)
    ('age: old', 18, 0.00...)
    """
    if permutations < 1:
        raise InputError(f"{permutations} permutations cannot be drawn", remedy="use 1000")
    named = None if target is None else target_of(data, target)
    chosen = names(traits) or (named[1].traits if named else list(getattr(data, "traits", ())))
    if not chosen:
        raise InputError("no target and no trait was named", remedy="pass target, or traits such as gender,age")
    columns = trait_columns(data, list(dict.fromkeys([*chosen, *(named[1].traits if named else ())])), by)
    extra = [*columns.values(), *(["kind"] if has_column(data, "kind") else [])]
    texts = getattr(getattr(data, "corpus", data), "items", pl.DataFrame())
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=extra):
        rows += _Tally.of(part, columns, chosen, named, groups, permutations, seed).rows(part, per)
    made = table(rows, [*names(by), *(["item"] if per == "item" else [])])
    if per == "item" and "text" in getattr(texts, "columns", ()) and len(made):
        made = made.join(texts.select("item", "text"), on="item", how="left", maintain_order="left")
    return made


@dataclass(frozen=True)
class _Tally:
    """The answers by rater, as a matrix of units and answers by raters, and the targets' weights."""

    units: list[str]
    codes: Floats
    given: csr_array
    """One row for each unit and answer, one column for each person: their share of answers."""
    targets: dict[str, Floats]
    hidden: int
    """How many groups are too small to be shown."""
    models: dict[str, csr_array]
    traits: Sequence[str]
    drawn: Ints | None
    """The group that each person was drawn in; none where people were drawn one by one."""
    permutations: int
    seed: int

    @classmethod
    def of(
        cls,
        part: Part,
        columns: dict[str, str],
        traits: Sequence[str],
        named: tuple[str, Any] | None,
        groups: RaterGroups | None,
        *how: int,
    ) -> _Tally:
        answered = part.answered if named is None else named[1].in_words(part.answered, columns)
        people, others = answered, answered.head(0)
        if "kind" in answered.columns and (person := answered["kind"].cast(pl.String).is_in(PEOPLE)).any():
            people, others = answered.filter(person), answered.filter(~person)
        raters = people.unique("rater", maintain_order=True).rename({c: t for t, c in columns.items()})
        unit_of = {unit: k for k, unit in enumerate(people["item"].cast(pl.String).unique().sort())}
        codes = np.unique(people["value"].to_numpy())
        known = {} if named is None else {named[0]: Raking.of(raters, named[1]).weights(np.ones(len(raters)))}
        for trait, values in ((trait, as_text(raters[trait])) for trait in traits if raters[trait].n_unique() > 1):
            for value in values.drop_nulls().unique().sort():
                known[f"{trait}: {value}"] = (values == value).fill_null(value=False).to_numpy().astype(np.float64)
        # Raking leaves a trace of a weight to people of whom the target has none.
        known = {name: np.where(weight > TRACE, weight, 0.0) for name, weight in known.items()}
        targets = {name: weight for name, weight in known.items() if np.count_nonzero(weight) >= ENOUGH}
        models = {
            str(model): _matrix(of_model, unit_of, codes, {model: 0})
            for (model,), of_model in others.partition_by("rater", as_dict=True, maintain_order=True).items()
        }
        given = _matrix(people, unit_of, codes, {rater: k for k, rater in enumerate(raters["rater"])})
        drawn = None if groups is None else groups.codes(raters["rater"])
        return cls(list(unit_of), codes, given, targets, len(known) - len(targets), models, traits, drawn, *how)

    def shares(self, weight: Floats) -> Floats:
        """Units × answers × columns of weights; not a number where nobody of the target answered."""
        sums = np.asarray(self.given @ weight).reshape(len(self.units), len(self.codes), -1)
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 1e-12))

    @cached_property
    def raw(self) -> Floats:
        """The shares of the raters as they are."""
        return self.shares(np.ones((self.given.shape[1], 1)))

    @cached_property
    def leading(self) -> NDArray[np.bool_]:
        """Which answers are the most frequent of the raters as they are."""
        return np.asarray(self.raw >= self.raw.max(axis=1, keepdims=True) - 1e-9)

    def _answered(self, weight: Floats) -> Ints:
        """How many people of a target answered each unit."""
        people = np.asarray(self.given.sign() @ (weight > 0), dtype=np.int64)
        return np.asarray(people.reshape(len(self.units), -1).sum(axis=1))

    @cached_property
    def shown(self) -> dict[str, NDArray[np.bool_]]:
        """Of which units each target is shown: enough people answered, and those of no shown group are not few."""
        people = {name: self._answered(weight) for name, weight in self.targets.items()}
        shown = {name: number >= ENOUGH for name, number in people.items()}
        for trait in self.traits:
            groups = [name for name in people if name.startswith(f"{trait}: ")]
            rest = self._answered(np.ones(self.given.shape[1])) - sum(people[name] * shown[name] for name in groups)
            few = (rest > 0) & (rest < ENOUGH)
            for unit in np.flatnonzero(few & np.any([shown[name] for name in groups], axis=0)):
                smallest = min((name for name in groups if shown[name][unit]), key=lambda name: people[name][unit])
                shown[smallest][unit] = False
        return shown

    def changes(self, shares: Floats) -> NDArray[np.bool_]:
        """Of each unit, whether the label is none of the leading ones: units × columns."""
        first = (shares >= shares.max(axis=1, keepdims=True) - 1e-9) & np.isfinite(shares)
        return np.asarray(first.any(axis=1) & ~(first & self.leading).any(axis=1))

    def dealt(self, weight: Floats, seen: Callable[[Floats], Floats]) -> Floats:
        """What is seen in the shares under the same weights dealt out to raters at random, once each permutation."""
        rng = np.random.default_rng(self.seed)
        step = max(1, AT_ONCE // max(self.given.shape[0], len(weight)))
        some = [min(step, self.permutations - begin) for begin in range(0, self.permutations, step)]

        def dealt(times: int) -> Floats:
            if self.drawn is None:
                return rng.permuted(np.tile(weight, (times, 1)), axis=1).T
            return np.stack([weight[dealt_anew(weight, self.drawn, rng)] for _ in range(times)], axis=1)

        return np.concatenate([seen(self.shares(dealt(times))) for times in some], axis=-1)

    def rows(self, part: Part, per: Per) -> list[dict[str, Any]]:
        """The rows of one group."""
        about = {**part.key, **counts(part.answered, part.frame)}
        about |= {"raters": self.given.shape[1], "judgments": int(self.given.sum())}
        if not self.targets:
            return [{**about, "reason": f"no group has {ENOUGH} people or more"}]
        scale = part.scale()
        labels = [show_code(c) if scale is None else scale.label(c) for c in self.codes.tolist()]
        rows: list[dict[str, Any]] = []
        for name, weight in self.targets.items():
            now, asked = self.shares(weight[:, None]), {**about, "target": name}
            if per == "item":
                rows += self._of_items(asked, now, weight, labels)
            else:
                asked["raters"] = np.count_nonzero(weight)
                rows += self._of_models(asked, now, weight) if per == "model" else [self._of_target(asked, now, weight)]
        if per == "item":
            return rows
        values = adjusted([row["p"] for row in rows], "holm")
        corrected = [{**row, "p_adjusted": p} for row, p in zip(rows, values, strict=True)]
        return corrected or [{**about, "reason": "there are no models"}]

    def _of_target(self, about: dict[str, Any], now: Floats, weight: Floats) -> dict[str, Any]:
        changed, items = int(self.changes(now).sum()), int(np.isfinite(now[:, 0, 0]).sum())
        by_chance = self.dealt(weight, lambda shares: self.changes(shares).sum(axis=0))
        low, high = np.quantile(by_chance, [0.025, 0.975]).tolist()
        expected = float(by_chance.mean())
        note = f"groups of fewer than {ENOUGH} people are not shown ({self.hidden})" if self.hidden else None
        return {
            **about, "effective": effective(weight), "changed": changed, "expected": expected, "chance_from": low,
            "chance_to": high, "estimate": (changed - expected) / max(items, 1), "items": items,
            "p": share_beyond(by_chance >= changed), "note": note,
        }  # fmt: skip

    def _of_items(
        self, about: dict[str, Any], now: Floats, weight: Floats, labels: list[str]
    ) -> Iterator[dict[str, Any]]:
        away = np.abs(now - self.raw).max(axis=1)

        def further(shares: Floats) -> Floats:
            return np.asarray((np.abs(shares - self.raw).max(axis=1) >= away - 1e-12).sum(axis=1, keepdims=True))

        p = np.where(
            np.isfinite(away[:, 0]), (self.dealt(weight, further).sum(axis=1) + 1) / (self.permutations + 1), np.nan
        )
        corrected = adjusted([None if np.isnan(one) else one for one in p.tolist()], "bh")
        changed = self.changes(now)[:, 0]
        answered = self._answered(weight)
        for unit in np.flatnonzero(np.isfinite(p) & self.shown[about["target"]]).tolist():
            first, before = int(now[unit, :, 0].argmax()), int(self.raw[unit, :, 0].argmax())
            for k, label in enumerate(labels):
                yield {
                    **about, "item": self.units[unit], "answer": label,
                    "raw": float(self.raw[unit, k, 0]), "estimate": float(now[unit, k, 0]),
                    "label": labels[first], "raters_label": labels[before],
                    "changed": bool(changed[unit]), "p": float(p[unit]), "p_adjusted": corrected[unit],
                    "depends": bool(changed[unit] and (corrected[unit] or 0.0) <= SEEN), "items": 1,
                    "raters": int(answered[unit]), "judgments": int(answered[unit]),
                }  # fmt: skip

    def _of_models(self, about: dict[str, Any], now: Floats, weight: Floats) -> Iterator[dict[str, Any]]:
        for model, given in self.models.items():
            said = np.asarray(given.todense()).reshape(len(self.units), len(self.codes), 1)
            known = (said.sum(axis=1)[:, 0] > 0) & np.isfinite(now[:, 0, 0])
            if not known.any():
                continue
            own = said[known] / said[known].sum(axis=1, keepdims=True)
            away, floor = float(_apart(own, known, now)[0]), _floor(known, now, hard=bool((own.max(axis=1) == 1).all()))
            by_chance = self.dealt(weight, partial(_apart, own, known))
            yield {
                **about, "rater": model, "estimate": away, "floor": floor, "expected": float(by_chance.mean()),
                "skill": 1 - away / floor if floor > 0 else None, "p": share_beyond(by_chance <= away),
                "items": int(known.sum()),
            }  # fmt: skip


def _matrix(answered: pl.DataFrame, units: dict[str, int], codes: Floats, who: dict[Any, int]) -> csr_array:
    """Answers as a matrix of units and answers by raters; what is not among them is left out."""
    unit = np.array([units.get(one, -1) for one in answered["item"].cast(pl.String)], dtype=np.int64)
    value = answered["value"].to_numpy()
    place = np.minimum(np.searchsorted(codes, value), len(codes) - 1)
    rater: Ints = np.array([who[one] for one in answered["rater"]], dtype=np.int64)
    kept = (unit >= 0) & (codes[place] == value)
    at = (unit[kept] * len(codes) + place[kept], rater[kept])
    return csr_array((np.ones(int(kept.sum())), at), shape=(len(units) * len(codes), len(who)))


def _apart(own: Floats, known: NDArray[np.bool_], shares: Floats) -> Floats:
    """The mean total variation between answers and the shares of units that are known, for each column."""
    return np.asarray(np.nanmean(np.abs(own - shares[known]).sum(axis=1) / 2, axis=0))


def _floor(known: NDArray[np.bool_], now: Floats, *, hard: bool) -> float:
    """How far a rater that never reads is from shares at least: one answer to all items, or the overall shares."""
    constant = [np.eye(now.shape[1])[[k]][:, :, None] for k in range(now.shape[1])]
    never = constant if hard else [*constant, now[known].mean(axis=0, keepdims=True)]
    return min(float(_apart(one, known, now)[0]) for one in never)
