"""The risk of a wrong conclusion from model labels, estimated from the items that people judged too.

What people and a model find in the same blocks of items says how far both lie from the reference, how they vary, and
how they go together; from that follows how often conclusions from a corpus of this size differ. Intervals hold over all
values that fit people's part (Hotelling's region). docs/robust.md says what counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import chdtri, fdtri

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.robust.conclusion import Conclusion
from vantage.robust.joint import FEWEST_BLOCKS, Blocks, Floats
from vantage.robust.multiverse import by_block
from vantage.robust.universe import CONDITIONS, MANY, able_models

ERRORS: Final = ("false_positive", "missed", "wrong_sign", "exaggerated")
WRONG: Final = slice(0, 3)
"""Which of these make a conclusion wrong."""
TWICE: Final = 2.0
"""An estimate so many times as large as people's is exaggerated."""
CRITICAL: Final = 1.959964
DRAWS: Final = 2000
SPLITS: Final = 20
PEOPLE: Final = "people"
MOST_ACCURATE: Final = "taking the most accurate model"
LIMIT: Final = 0.05
WORDS: Final = ("configuration", "verdict", "powered_verdict")
COLUMNS: Final = ("configuration", "estimate", "low", "high", "verdict", "accuracy", "risk", "risk_low", "risk_high",
                  *ERRORS, "powered", "powered_low", "powered_high", "powered_verdict", "powered_risk",
                  "more")  # fmt: skip


@dataclass(frozen=True)
class PairedEstimates:
    """What people and a model find in the same blocks, and how many items there are."""

    estimates: Floats
    """By block: people's and the model's."""
    reference: float
    growth: float
    """How many times as many items the model judged as people."""

    @property
    def known(self) -> Floats:
        """The blocks in which both have an estimate, less the reference."""
        return np.asarray(self.estimates[np.isfinite(self.estimates).all(axis=1)] - self.reference)

    def risk(self, seed: int = 0) -> tuple[Floats, float, float]:
        """How often each error happens on average over what fits people's part, and the interval of the whole risk."""
        known, rng, noise = self.known, np.random.default_rng(seed), np.random.default_rng(seed)
        n, centre = len(known), known.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(known.T) / n)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        chance = np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS))
        means = centre + (rng.normal(size=(DRAWS, 2)) * chance[:, None]) @ root.T
        errors = _errors(means, root / np.sqrt(self.growth), rng.normal(size=(DRAWS, 2))).mean(axis=0)
        reach, turn = np.sqrt(2 * (n - 1) / (n - 2) * fdtri(2, n - 2, 0.95)), np.linspace(0, 2 * np.pi, 16, False)
        circle = np.column_stack([np.cos(turn), np.sin(turn)])
        points = centre + reach * np.concatenate([np.zeros((1, 2)), 0.5 * circle, circle]) @ root.T
        spreads = np.sqrt((n - 1) / chdtri(n - 1, np.array([0.025, 0.5, 0.975])) / self.growth)
        drawn = noise.normal(size=(DRAWS // 2, 2))
        ends = [_errors(one, s * root, drawn)[:, WRONG].sum(axis=1).mean() for s in spreads for one in points]
        return np.asarray(errors), float(min(ends)), float(max(ends))

    def needed(self, said: Mapping[str, Any], limit: float) -> dict[str, float | None]:
        """The risk of an estimate from people's part, and how many times as many items bring it below the limit.

        Labels of all items by people vary by the growth less than those that there are; an estimate from a part of
        them, powered or not, varies by as much and by what is missing besides.
        """
        if self.growth <= 1 or said.get("low") is None:
            return {}
        error = (said["high"] - said["low"]) / 2 / CRITICAL
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(DRAWS, 2))
        means = said["estimate"] - self.reference + error * rng.normal(size=(DRAWS, 1))
        whole = min(np.sqrt(self.known[:, 0].var(ddof=1) / len(self.known) / self.growth), error)
        risks: list[float] = []
        for times in np.geomspace(1.0, self.growth, 40):
            added = np.sqrt(max(error**2 / times - whole**2, 0.0)) if times < self.growth else 0.0
            spread = np.array([[whole, 0.0], [whole, added]])
            risks.append(float(_errors(means, spread, noise)[:, WRONG].sum(axis=1).mean()))
            if risks[-1] <= limit:
                return {"powered_risk": risks[0], "more": float(times)}
        return {"powered_risk": risks[0], "more": None}


def _errors(means: Floats, spread: Floats, noise: Floats) -> Floats:
    """Which errors happen where both estimates lie around these means; one row per draw."""
    error = np.sqrt(np.maximum(np.square(spread).sum(axis=1), 1e-300))
    said = means + noise @ spread.T
    people, model = (np.sign(said) * (np.abs(said) > CRITICAL * error)).T
    large = np.abs(said[:, 1]) > TWICE * np.abs(said[:, 0])
    wrong = ((model != 0) & (people == 0), (model == 0) & (people != 0), model * people < 0)
    return np.column_stack([*wrong, (model * people > 0) & large]).astype(np.float64)


@dataclass(frozen=True)
class Risks:
    """What model labels would lead to, one row per configuration, and what people's labels are needed for."""

    table: pl.DataFrame
    items: int
    """How many items people judged."""
    of: int
    """How many items there are."""
    limit: float
    per_item: float
    """How many people judged each of these items."""

    def needed(self, price: float = 1.0) -> pl.DataFrame:
        """What people must judge for a risk below the limit, alone or with each model, the cheapest first."""
        known = self.table.filter(pl.col("powered_risk").is_not_null())
        if known.is_empty():
            raise InputError(
                "people judged all items, or the measure cannot be powered, so there is nothing to plan",
                remedy="plan a risk for a mean or a share where people judged a part of the items",
            )
        who, helped = pl.col("configuration"), pl.concat_str(pl.lit(f"{PEOPLE} and "), "configuration")
        items = (pl.col("more") * self.items).ceil().clip(upper_bound=self.of).cast(pl.Int64)
        further = (pl.col("items") - self.items).clip(lower_bound=0)
        made = known.select(
            pl.when(who == PEOPLE).then(who).otherwise(helped).alias("who"), risk="powered_risk", items=items
        )
        made = made.with_columns(further=further, answers=(further * self.per_item).ceil().cast(pl.Int64))
        return made.with_columns(cost=pl.col("answers") * price).sort("further", "risk", nulls_last=True)


def risks(corpus: Corpus, conclusion: Conclusion, *, limit: float = LIMIT, seed: int = 0) -> Risks | None:
    """The risk of each model, and of each of its prompts, and of taking the most accurate; null where there is none."""
    part = conclusion.part(corpus).included()
    people = part.people()
    answers = people.judgments.filter(pl.col("value").is_not_null())
    judged = answers["item"].unique()
    blocks = Blocks.of(part, answers, conclusion.options.get("between"), seed)
    configurations = [*_configurations(part, answers)]
    if not configurations or not blocks.number or blocks.unit in ("raters", "groups"):
        return None
    both, rows, pairs = blocks.corpus.filter(pl.col("item").is_in(judged.implode())), [], {}
    theirs = by_block(conclusion, blocks, both.people(), {})
    powered = conclusion.model_copy(update={"row": {**conclusion.row, "judged_by": "both"}})
    for name, where in configurations:
        own = part.filter(**where)
        mine = by_block(conclusion, blocks, both.filter(**where), {})
        growth = max(own.judgments["item"].n_unique() / len(judged), 1.0)
        pair = PairedEstimates(np.column_stack([theirs, mine]), conclusion.reference, growth)
        if len(pair.known) < FEWEST_BLOCKS:
            continue
        if said := _said(conclusion, own):  # the measure may say nothing of one rater
            helped = _said(powered, part, powered_by=name) if len(where) == 1 and pair.growth > 1 else {}
            row = {**_row(name, *pair.risk(seed)), **said, **pair.needed(helped, limit)}
            rows.append(row | {f"powered_{one}".removesuffix("_estimate"): value for one, value in helped.items()})
            pairs[name] = pair
    if not rows:
        return None
    accurate = Conclusion(
        measure="accuracy", options={"by": ["rater"], "metric": "accuracy", "skill": False}, reference=0
    )
    each = {one: by_block(accurate.model_copy(update={"row": {"rater": one}}), blocks, both, {}) for one in pairs}
    accuracy = {name: values for name, values in each.items() if np.isfinite(values).any()}
    average = {name: float(np.nanmean(values)) for name, values in accuracy.items()}
    rows = [{**row, "accuracy": average.get(row["configuration"])} for row in rows]
    if len(accuracy) > 1:
        rows.append(_most_accurate(pairs, accuracy, rows, seed))
    said, of = _said(conclusion, people), part.judgments["item"].n_unique()
    alone = PairedEstimates(np.column_stack([theirs, theirs]), conclusion.reference, of / len(judged))
    first = {"configuration": PEOPLE, **said, **alone.needed(said, limit)}
    table = pl.DataFrame([first, *rows], {name: pl.String if name in WORDS else pl.Float64 for name in COLUMNS})
    return Risks(table, len(judged), of, limit, answers.select("item", "rater").n_unique() / len(judged))


def _configurations(part: Corpus, answers: pl.DataFrame) -> Iterator[tuple[str, dict[str, str]]]:
    """Each model that judged enough of the items that people judged, and each of its conditions and presentations."""
    for name in able_models(part, answers):
        yield name, {"rater": name}
        mine = part.judgments.filter(rater=name)
        for column in (one for one in CONDITIONS if one in mine.columns):
            values = mine[column].drop_nulls().unique().sort().to_list()
            if 1 < len(values) <= MANY:
                yield from ((f"{name}, {value}", {"rater": name, column: value}) for value in values)


def _said(conclusion: Conclusion, part: Corpus, **options: Any) -> dict[str, Any]:
    """What the conclusion would be from these judgments; nothing where the measure says nothing of them."""
    try:
        claim, _ = conclusion.claim(part, **options)
    except InputError:
        return {}
    return {name: getattr(claim, name) for name in ("estimate", "low", "high", "verdict")}


def _most_accurate(
    pairs: dict[str, PairedEstimates], accuracy: dict[str, Floats], rows: Sequence[dict[str, Any]], seed: int
) -> dict[str, Any]:
    """The model that is most accurate in one half of the blocks, judged by the other half."""
    rng, number = np.random.default_rng(seed), len(next(iter(accuracy.values())))
    chosen, made = [], []
    for _ in range(SPLITS):
        half = rng.permutation(number) < number // 2
        name = max(accuracy, key=lambda one: float(np.nan_to_num(np.nanmean(accuracy[one][half]), nan=-1.0)))
        # Half of the blocks know half as much: the corpus is then so many times as large.
        growth = pairs[name].growth * number / max((~half).sum(), 1)
        held_out = PairedEstimates(pairs[name].estimates[~half], pairs[name].reference, growth)
        if len(held_out.known) >= FEWEST_BLOCKS // 2:
            chosen.append(name)
            made.append(held_out.risk(seed)[0])
    mine = [row for row in rows if row["configuration"] in chosen]
    low, high = min(row["risk_low"] for row in mine), max(row["risk_high"] for row in mine)
    return _row(MOST_ACCURATE, np.mean(made, axis=0), low, high)


def _row(name: str, errors: Floats, low: float, high: float) -> dict[str, Any]:
    whole = {"risk": float(np.clip(errors[WRONG].sum(), low, high)), "risk_low": low, "risk_high": high}
    return {"configuration": name, **whole, **dict(zip(ERRORS, errors.tolist(), strict=True))}
