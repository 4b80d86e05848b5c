"""The risk of a wrong conclusion from model labels, estimated from the items that people judged too.

A conclusion is wrong where the labels of all items by people would have led to another one: a false positive, an effect
that is missed, one with the wrong sign, and besides them one that is exaggerated (Gelman and Carlin 2014; Baumann et
al. 2025 count the same over published analyses). What people and a model find in the same blocks of items says how far
both lie from the reference, how they vary, and how they go together; from that follows how often conclusions from a
corpus of this size differ. Intervals hold over all values that fit people's part (Hotelling's region), so few labels
make them wide. The practice of taking the most accurate model is cross-validated: chosen on one half of the blocks,
judged on the other.
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
from vantage.measures import find
from vantage.robust.conclusion import Conclusion
from vantage.robust.joint import BLOCK, FEWEST_BLOCKS, Blocks, Floats
from vantage.robust.multiverse import by_block
from vantage.robust.offered import CONDITIONS, MANY

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
FEWEST: Final = 0.5
"""A model must have judged this share of the items that people judged."""


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

    def risk(self, seed: int = 0) -> Floats:
        """How often each error happens, on average over what fits people's part."""
        known = self.known
        centre, error = known.mean(axis=0), _root(np.cov(known.T) / len(known))
        rng = np.random.default_rng(seed)
        chance = np.sqrt((len(known) - 1) / rng.chisquare(len(known) - 1, DRAWS))
        means = centre + (rng.normal(size=(DRAWS, 2)) * chance[:, None]) @ error.T
        return np.asarray(_errors(means, error / np.sqrt(self.growth), rng.normal(size=(DRAWS, 2))).mean(axis=0))

    def interval(self, seed: int = 0, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """The lowest and the highest risk, of each error and of any that is wrong, that fit people's part."""
        known = self.known
        n = len(known)
        centre, error = known.mean(axis=0), _root(np.cov(known.T) / n)
        reach = np.sqrt(2 * (n - 1) / (n - 2) * fdtri(2, n - 2, confidence))
        turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        circle = np.column_stack([np.cos(turn), np.sin(turn)])
        around = np.concatenate([np.zeros((1, 2)), 0.5 * circle, circle])
        points = centre + reach * around @ error.T
        noise = np.random.default_rng(seed).normal(size=(DRAWS // 2, 2))
        scales = [np.sqrt((n - 1) / chdtri(n - 1, tail)) for tail in ((1 - confidence) / 2, 0.5, (1 + confidence) / 2)]
        made = []
        for scale in scales:
            spread = scale * error / np.sqrt(self.growth)
            made += [_errors(np.broadcast_to(point, noise.shape), spread, noise).mean(axis=0) for point in points]
        risks = np.array(made)
        whole = np.column_stack([risks, risks[:, WRONG].sum(axis=1)])
        return whole.min(axis=0), whole.max(axis=0)

    def needed(self, said: Mapping[str, Any], limit: float) -> dict[str, float | None]:
        """The risk of an estimate from people's part, and how many times as many items bring it below the limit.

        Labels of all items by people vary by the growth less than those that there are; an estimate from a part of
        them, powered or not, varies by as much and by what is missing besides.
        """
        if self.growth <= 1 or said["low"] is None:
            return {}
        error = (said["high"] - said["low"]) / 2 / CRITICAL
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(DRAWS, 2))
        means = said["estimate"] - self.reference + error * rng.normal(size=(DRAWS, 1))
        whole = min(np.sqrt(self.known[:, 0].var(ddof=1) / len(self.known) / self.growth), error)
        now = None
        for times in np.geomspace(1.0, self.growth, 40):
            added = np.sqrt(max(error**2 / times - whole**2, 0.0)) if times < self.growth else 0.0
            spread = np.array([[whole, 0.0], [whole, added]])
            risk = float(_errors(np.hstack([means, means]), spread, noise)[:, WRONG].sum(axis=1).mean())
            now = risk if now is None else now
            if risk <= limit:
                return {"powered_risk": now, "more": float(times)}
        return {"powered_risk": now, "more": None}


def _root(covariance: Floats) -> Floats:
    """A square root of a covariance, also of one without full rank."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _errors(means: Floats, spread: Floats, noise: Floats) -> Floats:
    """Which errors happen where both estimates lie around these means; one row per draw."""
    error = np.sqrt(np.maximum(np.square(spread).sum(axis=1), 1e-300))
    said = means + noise @ spread.T
    people, model = (np.sign(said) * (np.abs(said) > CRITICAL * error)).T
    size = np.abs(said)
    return np.column_stack(
        [
            (model != 0) & (people == 0),
            (model == 0) & (people != 0),
            model * people < 0,
            (model * people > 0) & (size[:, 1] > TWICE * size[:, 0]),
        ]
    ).astype(np.float64)


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
        if "more" not in self.table.columns:
            raise InputError(
                "people judged all items, or the measure cannot be powered, so there is nothing to plan",
                remedy="plan a risk for a mean or a share where people judged a part of the items",
            )
        items = (pl.col("more") * self.items).ceil().clip(upper_bound=self.of).cast(pl.Int64)
        further = (items - self.items).clip(lower_bound=0)
        answers = (further * self.per_item).ceil().cast(pl.Int64)
        helped = pl.concat_str(pl.lit(f"{PEOPLE} and "), "configuration")
        return (
            self.table.filter(pl.col("powered_risk").is_not_null())
            .select(
                pl.when(pl.col("configuration") == PEOPLE).then(pl.lit(PEOPLE)).otherwise(helped).alias("who"),
                pl.col("powered_risk").alias("risk"),
                items.alias("items"),
                further.alias("further"),
                answers.alias("answers"),
                (answers * price).alias("cost"),
            )
            .sort("further", "risk", nulls_last=True)
        )


def risks(corpus: Corpus, conclusion: Conclusion, *, limit: float = LIMIT, seed: int = 0) -> Risks | None:
    """The risk of each model, and of each of its prompts, and of taking the most accurate; null where there is none."""
    part = conclusion.part(corpus).included()
    people = part.people()
    judged = people.judgments.filter(pl.col("value").is_not_null())["item"].unique()
    names = _models(part, judged)
    if not names or judged.is_empty():
        return None
    blocks = Blocks.of(part.filter(pl.col("item").is_in(judged.implode())), conclusion.options.get("between"), seed)
    if not blocks.number or blocks.unit == "raters":
        return None
    both = blocks.corpus
    theirs = by_block(conclusion, blocks, both.people(), conclusion.options)
    rows, pairs = [], {}
    for name, where in _configurations(part, names):
        mine = by_block(conclusion, blocks, both.filter(**where), conclusion.options)
        own = part.filter(**where)
        growth = own.judgments["item"].n_unique() / len(judged)
        pair = PairedEstimates(np.column_stack([theirs, mine]), conclusion.reference, max(growth, 1.0))
        if len(pair.known) < FEWEST_BLOCKS:
            continue
        try:
            said = _said(conclusion, own)
        except InputError:  # the measure says nothing of one rater
            continue
        pairs[name] = pair
        powered = _powered(conclusion, part, name, pair, limit) if name in names else {}
        rows.append({**_row(name, pair, seed), **said, **powered})
    if not rows:
        return None
    accuracy = _accuracies(both, list(pairs), blocks)
    for row in rows:
        row["accuracy"] = (
            float(np.nanmean(accuracy[row["configuration"]])) if row["configuration"] in accuracy else None
        )
    if len(pairs) > 1 and len(accuracy) > 1:
        rows.append(_most_accurate(pairs, accuracy, rows, seed))
    said, of = _said(conclusion, people), part.judgments["item"].n_unique()
    first = {"configuration": PEOPLE, **said, **dict.fromkeys(("risk", "risk_low", "risk_high", *ERRORS))}
    alone = PairedEstimates(np.column_stack([theirs, theirs]), conclusion.reference, of / len(judged))
    table = pl.DataFrame([{**first, **alone.needed(said, limit)}, *rows], infer_schema_length=None)
    per_item = people.judgments.filter(pl.col("value").is_not_null()).select("item", "rater").n_unique() / len(judged)
    return Risks(table, len(judged), of, limit, per_item)


def _models(part: Corpus, judged: pl.Series) -> list[str]:
    """The models that judged enough of the items that people judged, with names that a condition can hold."""
    models = part.included().raters.filter(pl.col("kind").cast(pl.String).is_in(["model", "persona", "trained"]))
    answered = part.judgments.filter(
        pl.col("rater").is_in(models["rater"].implode()),
        pl.col("item").is_in(judged.implode()),
        pl.col("value").is_not_null(),
    )
    counts = answered.group_by("rater").agg(pl.col("item").n_unique().alias("items")).sort("rater")
    return counts.filter(pl.col("items") >= FEWEST * len(judged))["rater"].to_list()


def _configurations(part: Corpus, names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each model, and each of its conditions and presentations where it has several."""
    for name in names:
        yield name, {"rater": name}
        mine = part.judgments.filter(rater=name)
        for column in (one for one in CONDITIONS if one in mine.columns):
            values = mine[column].drop_nulls().unique().sort().to_list()
            if 1 < len(values) <= MANY:
                yield from ((f"{name}, {value}", {"rater": name, column: value}) for value in values)


def _row(name: str, pair: PairedEstimates, seed: int) -> dict[str, Any]:
    risk, (low, high) = pair.risk(seed), pair.interval(seed)
    wrong = float(risk[WRONG].sum())
    row = {"configuration": name, "risk": float(np.clip(wrong, low[-1], high[-1]))}
    return {
        **row,
        "risk_low": float(low[-1]),
        "risk_high": float(high[-1]),
        **dict(zip(ERRORS, risk.tolist(), strict=True)),
    }


def _said(conclusion: Conclusion, part: Corpus) -> dict[str, Any]:
    """What the conclusion would be from these judgments alone."""
    frame = conclusion.located(find(conclusion.measure).function(part, **conclusion.options))
    claim = conclusion.claims(frame)[0] if len(frame) == 1 else None
    known = ("estimate", "low", "high", "verdict")
    return {name: None if claim is None else getattr(claim, name) for name in known}


def _powered(conclusion: Conclusion, part: Corpus, name: str, pair: PairedEstimates, limit: float) -> dict[str, Any]:
    """The powered estimate, its verdict, and how many more items people must judge for a risk below the limit."""
    measure = find(conclusion.measure)
    if "powered_by" not in measure.options or pair.growth <= 1:
        return {}
    try:
        frame = conclusion.located(measure.function(part, **conclusion.options, powered_by=name))
    except InputError:
        return {}
    rows = frame.filter(judged_by="both")
    claim = conclusion.claims(rows)[0] if len(rows) == 1 else None
    if claim is None or claim.estimate is None or claim.low is None or claim.high is None:
        return {}
    said = {"estimate": claim.estimate, "low": claim.low, "high": claim.high}
    named = {"powered": claim.estimate, "powered_low": claim.low, "powered_high": claim.high}
    return {**named, "powered_verdict": claim.verdict, **pair.needed(said, limit)}


def _accuracies(both: Corpus, names: Sequence[str], blocks: Blocks) -> dict[str, Floats]:
    """How often each model gives people's answer, by block."""
    try:
        frame = find("accuracy").function(both, by=["rater", BLOCK], metric="accuracy", ci="none", skill=False)
    except InputError:
        return {}
    rows = frame.filter(pl.col("rater").is_in(list(names)))
    return {
        str(name): blocks.vector(dict(part.select(BLOCK, "estimate").iter_rows()))
        for (name,), part in rows.group_by("rater", maintain_order=True)
    }


def _most_accurate(
    pairs: dict[str, PairedEstimates], accuracy: dict[str, Floats], rows: Sequence[dict[str, Any]], seed: int
) -> dict[str, Any]:
    """The model that is most accurate in one half of the blocks, judged by the other half."""
    rng, names = np.random.default_rng(seed), [name for name in pairs if name in accuracy]
    number = len(next(iter(accuracy.values())))
    chosen, made = [], []
    for _ in range(SPLITS):
        half = rng.permutation(number) < number // 2
        name = max(names, key=lambda one: float(np.nan_to_num(np.nanmean(accuracy[one][half]), nan=-1.0)))
        pair = pairs[name]
        # Half of the blocks know half as much: the corpus is then so many times as large.
        held_out = PairedEstimates(pair.estimates[~half], pair.reference, pair.growth * number / max((~half).sum(), 1))
        if len(held_out.known) >= FEWEST_BLOCKS // 2:
            chosen.append(name)
            made.append(held_out.risk(seed))
    mine = [row for row in rows if row["configuration"] in set(chosen)]
    risk = np.mean(made, axis=0)
    low, high = min(row["risk_low"] for row in mine), max(row["risk_high"] for row in mine)
    wrong = float(np.clip(risk[WRONG].sum(), low, high))
    return {"configuration": MOST_ACCURATE, "risk": wrong, "risk_low": low, "risk_high": high,
            **dict(zip(ERRORS, risk.tolist(), strict=True))}  # fmt: skip
