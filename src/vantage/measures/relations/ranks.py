"""Do systems keep their order from one condition to another, and how sure is that?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import MODELS, PEOPLE
from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import RANKS, IntervalOptions, over_units
from vantage.measures.parts import Rounding, counts, names, partitioned, scale_of, scales_of, two_values
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Floats, Judgments, has_column, judgments_frame
from vantage.measures.relations.correlations import p_value
from vantage.measures.resampling import Resampling, ratio
from vantage.measures.scoring.references import Reference, Scored
from vantage.measures.scoring.scores import METRICS, Metric, Missing, Rules, Scores, chosen, label_set

Scorer: TypeAlias = Callable[[Floats], Floats]
"""From blocks of item weights to the scores of one system in one condition."""

Rank: TypeAlias = Literal["spearman", "kendall"]

TIED: Final = "all systems are tied in a condition"
OTHER_ITEMS: Final = "the systems answered different items, so that their ranks may be those of the items"
FEW_SYSTEMS: Final = "a rank correlation of so few systems takes few values, and its interval nearly always holds"
_LOWER_IS_BETTER: Final = {"mae", "rmse"}
_EXACT: Final = 7
"""Up to this many systems the p-value counts all orders."""


VIEW: Final = View(
    "Rank correlation of systems between two conditions",
    symbol="τ",
    columns={"estimate": Column("rank correlation", digits=2)},
    says=(
        Against(
            0.0,
            above="The order of systems agrees better than chance for {rows}",
            below="The order of systems is reversed for {rows}",
            within="It is not clear whether the orders of systems agree for {rows}",
            label="{first} and {second}",
        ),
    ),
)


@measure("ranks", "relations", view=VIEW, interval=("sources",))
def ranks(
    data: Judgments,
    *,
    by: By = (),
    between: str = "condition",
    values: Sequence[object] | None = None,
    system: str = "rater",
    reference: Reference | None = None,
    score: str = "accuracy",
    within: float = 1.0,
    missing: Missing = "left_out",
    opt_outs: Missing = "left_out",
    correlation: Rank = "spearman",
    rounding: Rounding = "none",
    zero_division: float | None = 0.0,
    raters: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    match: By = ("item", "question"),
    per: Literal["all", "system", "pair", "resample"] = "all",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Rank correlation of systems between two conditions, with the bootstrap distribution over items.

    Each value of the column `system` gets a score in each of the two conditions: a metric of `accuracy` against the
    `reference`, which is the majority of people where people and models judged; the mean of its values where there is
    no reference (a table of scores; it may do without items, and then has no interval). `missing`, `opt_outs` and
    `zero_division` are those of `accuracy`. For error metrics, lower is better. The same resampled items score every
    system in both conditions.

    `per` chooses the rows: `all` is the correlation (Spearman's, or Kendall's tau-b) with its interval and
    p-value (from all orders up to seven systems); `system` the two scores and ranks of each system, and
    the change of its rank with its interval; `pair` how often two systems are in opposite orders in the two
    conditions (`estimate`, a share of the resamples; `swapped` is what the full data say); `resample` the correlation
    of every resample.

    >>> scores = {"rater": ["a", "b", "c"] * 2, "condition": ["plain"] * 3 + ["context"] * 3,
    ...           "value": [0.6, 0.7, 0.8, 0.9, 0.7, 0.95]}
    >>> ranks(scores)["estimate"].to_list()
    [0.5]
    """
    if score not in METRICS or score in {"precision", "recall", "f1"} or score.endswith("_class"):
        single = [m for m in METRICS if not m.endswith("_class")]
        raise InputError(f"score '{score}' is not one number per system", remedy=nearest(score, single))
    how = Resampling(**resampling)
    if reference is None and _people_and_models(data):
        reference = "majority"
    data = _with_items(data) if reference is None else data
    columns = list(dict.fromkeys([*names(by), between, system]))
    if reference is None:
        frame = judgments_frame(data, columns)
    else:
        keys = [column for column in names(match) if column != between]
        frame = Scored(data, reference, columns, raters, people, keys, rounding).frame()
    conditions = two_values(frame, between, values)
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(frame.filter(pl.col(between).is_in(conditions)), names(by)):
        usable = pl.col("value").is_not_null()
        if reference is None:
            scorers = _scorers(part, between, system, conditions, _mean_scorer)
        else:
            scale = scale_of(part, scales_of(data))
            labels = label_set(frame, scale, None)
            metrics = chosen([score], None, len(labels))
            rules = Rules(labels, within, missing, opt_outs, zero_division)
            scorers = _scorers(part, between, system, conditions, partial(_metric_scorer, rules, metrics))
            usable = pl.col("gold").is_not_null() & (usable | rules.wrong)
        # Systems are ranked that have a score in both conditions.
        known_items = part["item"].unique().sort()
        once = np.ones((1, len(known_items)))
        defined = {n: pair for n, pair in scorers.items() if all(np.isfinite(s(once)[0]) for s in pair)}
        lower = score in _LOWER_IS_BETTER
        ranking = Ranking(list(defined), list(defined.values()), known_items, correlation, how, lower)
        scored = "mean value" if reference is None else score
        named = {"first": str(conditions[0]), "second": str(conditions[1]), "score": scored}
        ranked = part.filter(pl.col(system).cast(pl.String).is_in(ranking.systems))
        known = [pl.col(name).is_not_null() for name in ("value", "gold") if name in part.columns]
        used = ranked.filter(known)
        based_on = counts(used, part, unranked=part["value"].count() - len(used))
        if not _same_items(ranked.filter(usable), system, between):
            based_on["note"] = OTHER_ITEMS
        rows += [{**key, **named, **row, **based_on} for row in ranking.rows(per)]
    return table(rows, names(by))


def _people_and_models(data: Judgments) -> bool:
    kinds = set(judgments_frame(data, ["kind"])["kind"].cast(pl.String)) if has_column(data, "kind") else set()
    return not kinds.isdisjoint(PEOPLE) and not kinds.isdisjoint(MODELS)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The systems that have a score in both conditions, and how to score them under weights of items."""

    systems: list[str]
    scorers: list[tuple[Scorer, Scorer]]
    items: pl.Series
    correlation: Rank
    how: Resampling
    lower: bool

    def scores(self, weight: Floats) -> tuple[Floats, Floats]:
        """The systems' scores in the two conditions, one row per row of item weights."""
        first, second = (np.column_stack([pair[c](weight) for pair in self.scorers]) for c in (0, 1))
        return first, second

    def rows(self, per: str) -> list[dict[str, Any]]:
        """The rows of a result, without the counts."""
        if len(self.systems) < 2:
            return [{"estimate": None, "reason": "fewer than two systems have a score in both conditions"}]
        if per == "system":
            return self._system_rows()
        if per == "pair":
            return self._pair_rows()
        if per == "resample":
            drawn = [self._correlations(block) for block in self.how.draws(len(self.items), self.items)]
            return [
                {"resample": i, **({"estimate": float(r)} if np.isfinite(r) else {"estimate": None, "reason": TIED})}
                for i, r in enumerate(np.concatenate(drawn) if drawn else ())
            ]
        first, second = self.scores(np.ones((1, len(self.items))))
        estimate = float(rank_correlations(first, second, self.correlation)[0])
        row: dict[str, Any] = {"correlation": self.correlation, "systems": len(self.systems), "p": None}
        if not np.isfinite(estimate):
            return [{**row, "reason": TIED}]
        statistic = self._correlations
        bounds = self.how.intervals(
            len(self.items), lambda weight: statistic(weight)[:, None], limits=[RANKS], items=self.items
        )[0]
        row |= {"p": _p_value(first[0], second[0], self.correlation), "estimate": estimate}
        # That all resamples have the same order is a result, which most estimates that never vary are not.
        row |= {"low": bounds[0], "high": bounds[1], "over": self._over(bounds[0])}
        return [{**row, "reason": FEW_SYSTEMS if bounds[0] is not None and len(self.systems) <= _EXACT else None}]

    def _over(self, low: float | None) -> str | None:
        """What an interval is over, where there is one."""
        return None if low is None else over_units(self.how.ci, self.how.sources, None)

    def _correlations(self, weight: Floats) -> Floats:
        return rank_correlations(*self.scores(weight), self.correlation)

    def _system_rows(self) -> list[dict[str, Any]]:
        first, second = self.scores(np.ones((1, len(self.items))))
        first_rank, second_rank = (_ranked(scores, self.lower)[0] for scores in (first, second))
        change = second_rank - first_rank

        def changes(weight: Floats) -> Floats:
            before, after = (_ranked(scores, self.lower) for scores in self.scores(weight))
            return after - before

        bounds = self.how.intervals(len(self.items), changes, limits=[RANKS] * len(self.systems), items=self.items)
        return [
            {
                "system": name,
                "first_score": float(first[0, i]),
                "second_score": float(second[0, i]),
                "first_rank": float(first_rank[i]),
                "second_rank": float(second_rank[i]),
                "estimate": float(second[0, i] - first[0, i]),
                "rank_change": float(change[i]),
                # The rank of the best can only fall in a resample, so that its own may lie beyond all of them.
                "rank_change_low": None if low is None else min(low, float(change[i])),
                "rank_change_high": None if high is None else max(high, float(change[i])),
                "over": self._over(low),
            }
            for i, (name, (low, high)) in enumerate(zip(self.systems, bounds, strict=True))
        ]

    def _pair_rows(self) -> list[dict[str, Any]]:
        seen = [scores[0] for scores in self.scores(np.ones((1, len(self.items))))]
        blocks = [self.scores(block) for block in self.how.draws(len(self.items), self.items)]
        drawn = [np.concatenate([block[c] for block in blocks]) for c in (0, 1)] if blocks else None
        rows = []
        for i, j in combinations(range(len(self.systems)), 2):
            one, two = (float(scores[i] - scores[j]) for scores in seen)
            row: dict[str, Any] = {
                "system": self.systems[i],
                "other": self.systems[j],
                "first_difference": one,
                "second_difference": two,
                "swapped": bool(_opposed(np.array([one]), np.array([two]))[0]),
            }
            if drawn is None:
                rows.append({**row, "reason": "there are no items to resample"})
                continue
            apart = [scores[:, i] - scores[:, j] for scores in drawn]
            defined = np.isfinite(apart[0]) & np.isfinite(apart[1])
            rows.append({**row, "estimate": float(_opposed(*apart)[defined].mean()) if defined.any() else None})
        return rows


def _opposed(one: Floats, two: Floats) -> NDArray[np.bool_]:
    """Whether two differences have opposite signs; those of rounding size have none."""
    return np.round(one, 12) * np.round(two, 12) < 0


def rank_correlations(first: Floats, second: Floats, method: str) -> Floats:
    """The rank correlation of each row of one table with the same row of another.

    >>> rank_correlations(np.array([[1.0, 2.0, 3.0]]), np.array([[5.0, 9.0, 7.0]]), "spearman").tolist()
    [0.5]
    """
    if method == "spearman":
        a, b = (_ranked(scores, lower=False) for scores in (first, second))
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    else:
        i, j = np.triu_indices(first.shape[1], 1)
        a, b = (np.sign(np.round(s[:, i] - s[:, j], 12)) for s in (first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))


def _ranked(scores: Floats, lower: bool) -> Floats:
    """Mid-ranks within each row, 1 for the best; `lower` is best where errors are ranked.

    Scores are rounded first, since the same share may come from two divisions.
    """
    from scipy import stats

    sign = 1.0 if lower else -1.0
    ranked = stats.rankdata(sign * np.round(scores, 12), axis=1)
    return np.where(np.isfinite(scores).all(axis=1, keepdims=True), ranked, np.nan)


def _p_value(first: Floats, second: Floats, method: Rank) -> float | None:
    """Two-sided: the share of all orders at least as correlated; for many systems the usual approximation."""
    n = len(first)
    if n < 3:
        return None
    if n > _EXACT:
        return p_value(np.round(first, 12), np.round(second, 12), method)
    orders = np.array(list(permutations(range(n))))
    observed = abs(rank_correlations(first[None], second[None], method)[0])
    every = np.abs(rank_correlations(np.tile(first, (len(orders), 1)), second[orders], method))
    return float(np.mean(every >= observed - 1e-9))


def _scorers(
    part: pl.DataFrame,
    between: str,
    system: str,
    conditions: tuple[Any, Any],
    scorer: Callable[[pl.DataFrame, pl.DataFrame], Scorer],
) -> dict[str, tuple[Scorer, Scorer]]:
    """How to score every system in the two conditions, all over the same items."""
    items = part.select("item").unique().sort("item").with_row_index("position")

    def of(name: Any, condition: Any) -> Scorer:
        return scorer(part.filter((pl.col(system) == name) & (pl.col(between) == condition)), items)

    systems = part[system].drop_nulls().unique().sort().to_list()
    return {str(s): (of(s, conditions[0]), of(s, conditions[1])) for s in systems}


def _mean_scorer(rows: pl.DataFrame, items: pl.DataFrame) -> Scorer:
    placed = rows.filter(pl.col("value").is_not_null()).join(items, on="item")
    position, value = placed["position"].to_numpy().astype(np.int64), placed["value"].to_numpy()
    total = np.bincount(position, weights=value, minlength=len(items))
    sums = np.column_stack([total, np.bincount(position, minlength=len(items))])
    return lambda weight: ratio(weight @ sums)


def _metric_scorer(rules: Rules, metrics: Sequence[Metric], rows: pl.DataFrame, items: pl.DataFrame) -> Scorer:
    persons = rows["person"].drop_nulls().unique().sort().to_list() or [None]
    scores = Scores.of(rows, rules, persons, items)
    return lambda weight: scores.values(weight, metrics)[:, 0]


def _same_items(scored: pl.DataFrame, system: str, between: str) -> bool:
    """Whether the systems were scored on the same items within each condition."""
    cells = scored.select("item", system, between).unique()
    sizes = cells.group_by(between).agg(pl.len(), pl.col("item").n_unique(), pl.col(system).n_unique())
    return bool((sizes["len"] == sizes["item"] * sizes[system]).all())


def _with_items(data: Judgments) -> Judgments:
    """A table of scores without items is a table of one item."""
    if isinstance(data, Mapping) and "item" not in data:
        data = pl.DataFrame({name: np.asarray(column) for name, column in data.items()})
    return data.with_columns(item=pl.lit("")) if isinstance(data, pl.DataFrame) and "item" not in data.columns else data
