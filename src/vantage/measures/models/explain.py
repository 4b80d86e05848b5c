"""`vantage.measures.explain`: which traits, kinds of raters and conditions explain answers, given who judged what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import chdtrc

from vantage.corpora import TraitScale
from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.intervals import Contrast, blocks, over_units
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.cumulative import Cumulative, CumulativeFit
from vantage.measures.models.gaussian import Gaussian, GaussianFit
from vantage.measures.models.terms import KIND, Prepared, Term, prepare
from vantage.measures.multiplicity import Flags, dealt_anew, permutation_p
from vantage.measures.parts import Part, check_level, counts, names, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import (
    SAMPLED,
    By,
    Floats,
    Ints,
    ItemSources,
    Judgments,
    RaterGroups,
    has_column,
    on_repeats,
)
from vantage.measures.relations.groups import GroupAnalysis, trait_scales
from vantage.scales import show_code

Family: TypeAlias = Literal["auto", "gaussian", "ordinal", "binary"]
Show: TypeAlias = Literal["effects", "variance", "raters", "items", "interactions"]
MANY_POINTS: Final = 20
"""A scale of more points has no cumulative model: each of its thresholds would be a parameter."""
SOURCE: Final = "source"
GROUP: Final = "group"
FEW_RATERS: Final = 5
"""With fewer raters there is no permutation test."""

VIEW: Final = View(
    "What explains the answers",
    columns={
        "estimate": Column("effect", digits=2, signed=True, interval=("low", "high")),
        "points": Column("effect in points", digits=2, signed=True, interval=("points_low", "points_high")),
        "se": Column("standard error", digits=3),
        "difference": Column("clearest difference", digits=2, interval=("difference_low", "difference_high")),
        "excluded": Column(digits=2),
        "p": Column(digits=3),
    },
    show=("term", "level", "versus", "points", "p", "p_lr", "p_permutation", "raters"),
    notes=("Effects are in points of the scale, with everything else in the model held equal.",),
    says=(
        Against(
            0.0,
            above="{term}: {higher} give higher answers than {lower}[ about {rows}]",
            within="{term}: no evidence of a difference[ about {rows}]; more than {excluded} points is excluded",
            value="difference",
            low="difference_low",
            high="difference_high",
            p="p",
            result="{difference} points between {higher} and {lower}, {difference_low} to {difference_high}",
        ),
    ),
    method="Answers were regressed on traits with crossed random effects of items and raters.",
    sources=("bates2015",),
)


@measure("explain", "models", view=VIEW, follows=True)
def explain(
    data: Judgments,
    *,
    by: By = (),
    traits: By = (),
    question: str | None = None,
    family: Family = "auto",
    interactions: By = (),
    base: Mapping[str, str] | None = None,
    show: Show = "effects",
    permutations: int = 999,
    sources: ItemSources | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    groups: RaterGroups | None = None,
) -> pl.DataFrame:
    """Which traits, kinds of raters and conditions explain the answers: a mixed model with crossed items and raters.

    Items and raters are random effects; `traits` (columns of the raters or of the items), the kind of a rater (with
    `kinds="all"`) and the condition, where there are several, are fixed ones. People without a trait are left out.
    `family` is `gaussian` (restricted maximum likelihood; two options count as shares), or on request `ordinal`
    (cumulative logits, Laplace approximation) or `binary`, with a likelihood-ratio and a permutation test of each term.

    `show="effects"` has, for each term, a row with its one p value and its clearest difference, whose interval holds
    for all comparisons of the term at once, and the rows of the analysis of groups (see `groups`), with other traits
    held constant. `points` are points of the scale whatever the family. `interactions` such as `item:gender` add random
    effects; `variance` has the variances, and `raters`, `items` and `interactions` shrunken estimates of each level.

    >>> from vantage import demo_corpus
    >>> rows = explain(demo_corpus(), question="trust", show="variance")
    >>> rows.select("component", pl.col("estimate").round(2)).rows()
    [('item', 2.16), ('rater', 0.5), ('residual', 0.84)]
    """
    columns, wanted = names(traits), names(interactions)
    kinds = has_column(data, "kind")
    scales = trait_scales(data)
    design: dict[str, Any] = {"sources": sources, "groups": groups, "confidence": confidence}
    extra = [*columns, *(["kind"] if kinds else [])]
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=extra):
        chosen = one_question(part, question)
        scale = chosen.scale()
        if scale is None or len(scale.codes) != 2:
            check_level(scale, chosen.frame, "a model of ratings")
        ready = prepare(chosen.answered, columns, wanted, dict(base or {}), scales, kinds=kinds)
        ready = replace(ready, codes={**ready.codes, **_drawn_together(ready, sources, groups)})
        model = Explanation(ready, _family(family, ready), confidence, permutations, seed)
        based_on = counts(ready.frame, chosen.frame, **ready.left_out)
        based_on["note"] = on_repeats(ready.frame, SAMPLED)
        if show == "effects" and model.family == "gaussian":
            made = [model.mean()]
            for term in ready.terms:
                analysis = _analysis(term, ready, chosen.frame, columns, scales, dict(base or {}), **design)
                made += _term_rows(term, analysis)
        else:
            tables = {"effects": model.effects, "variance": model.variance}
            made = tables[show]() if show in tables else model.levels(show)
        rows += [{**part.key, **based_on, **row, "family": model.family} for row in made]
    return table(rows, names(by))


def _drawn_together(ready: Prepared, sources: ItemSources | str | None, groups: RaterGroups | None) -> dict[str, Ints]:
    """The random effects of sources of items and of groups of raters, where the design has several."""
    terms = {term.name for term in ready.terms}
    codes: dict[str, Ints] = {}
    if isinstance(sources, ItemSources) and sources.column not in terms:
        codes[SOURCE] = sources.codes(ready.frame["item"])
    if groups is not None and groups.column not in terms:
        codes[GROUP] = np.where(ready.codes["rater"] < 0, -1, groups.codes(ready.frame["rater"]))
    return {name: code for name, code in codes.items() if len(np.unique(code[code >= 0])) > 1}


def _analysis(
    term: Term,
    ready: Prepared,
    asked: pl.DataFrame,
    traits: Sequence[str],
    scales: Mapping[str, TraitScale],
    base: Mapping[str, str],
    **design: Any,
) -> GroupAnalysis:
    """The analysis of groups of one term, with other traits held constant."""
    if term.name == KIND:
        asked = ready.frame.with_columns(pl.col("__kind").alias(KIND))
        analysis = GroupAnalysis.of(asked, KIND, TraitScale("nominal"), **design)
        random = analysis.frame["__random"].to_numpy().astype(np.int64)
        return replace(analysis, random=random, base=term.base)
    scale = TraitScale("nominal") if term.name == "condition" else scales.get(term.name)
    others = [trait for trait in traits if trait != term.name]
    analysis = GroupAnalysis.of(asked, term.name, scale, given=others, **design)
    if term.name in base:
        chosen = next((one for one in analysis.levels if str(one) == base[term.name]), None)
        analysis = replace(analysis, base=chosen)
    return analysis


def _term_rows(term: Term, analysis: GroupAnalysis) -> list[dict[str, Any]]:
    """The rows of one term, its clearest difference first."""
    made = analysis.rows()
    tested = [row for row in made if row["p"] is not None]
    comparisons = 1 if analysis.single else max(len(tested), 1)
    clear = min(tested, key=lambda row: float(row["p"])) if analysis.scale.level == "nominal" and tested else made[0]
    clearest = _clearest(clear, comparisons, analysis.confidence)
    rows = [{"term": term.name, "versus": "clearest difference", **clearest}]
    for row in made:
        named = {"term": term.name, "level": row.pop("group"), "versus": row.pop("versus") or row["row"]}
        points = {f"points{end}": row.get(f"{end[1:] or 'estimate'}") for end in ("", "_low", "_high")}
        kept = {name: value for name, value in row.items() if name not in ("row", "higher", "lower", "p_trait")}
        rows.append({**named, **kept, **points})
    return rows


def _clearest(row: dict[str, Any], comparisons: int, confidence: float) -> dict[str, Any]:
    """A row of the analysis of groups as that of its term, the higher side first, corrected for all comparisons."""
    estimate, error = row.get("estimate"), row.get("se")
    up = estimate is None or estimate >= 0
    ends = (row["higher"], row["lower"]) if up else (row["lower"], row["higher"])
    named = {"level": f"{ends[0]} − {ends[1]}", "higher": ends[0], "lower": ends[1], "p": row["p_trait"]}
    if estimate is None or error is None:
        return {**named, "estimate": estimate, "reason": row.get("reason")}
    contrast = Contrast(abs(estimate), error, row["df"])
    all_at_once = 1 - (1 - confidence) / comparisons
    low, high = contrast.ends(all_at_once)
    shown = contrast.stated(all_at_once, "points") | contrast.stated(all_at_once, "difference")
    counted: dict[str, Any] = {
        name: row[name] for name in ("items", "raters", "judgments", "left_out", "df", "se", "d") if name in row
    }
    stated = {"estimate": contrast.estimate, "low": low, "high": high, "over": row.get("over")}
    reason = {"reason": row["reason"]} if row.get("reason") else {}
    return {**named, **stated, **shown, **counted, **reason, "excluded": max(abs(low), abs(high))}


@dataclass(frozen=True)
class Explanation:
    """One model of the answers to one question."""

    ready: Prepared
    family: str
    confidence: float = 0.95
    permutations: int = 999
    seed: int = 0

    @cached_property
    def design(self) -> Crossed:
        """The random effects; those of a single level are refused."""
        for name, code in self.ready.codes.items():
            if int(code.max(initial=-1)) < 1:
                raise InputError(
                    f"there are fewer than two {name}s with answers, so their variance has no estimate",
                    remedy="choose a question that several raters answered about several items",
                )
            if int(code.max()) + 1 == int((code >= 0).sum()):
                raise InputError(
                    f"no {name} has more than one answer, so its variance cannot be told from the residual",
                    remedy="use data in which items and raters have several answers",
                )
        return Crossed(list(self.ready.codes.values()))

    @cached_property
    def fit(self) -> GaussianFit | CumulativeFit:
        """The fit from which estimates come: restricted maximum likelihood, or Laplace."""
        return self._fitted(None)

    @cached_property
    def _model(self) -> Gaussian | Cumulative:
        value = self.ready.frame["value"].to_numpy()
        if np.ptp(value) == 0:
            raise InputError(
                "all answers are the same, so there is nothing to explain", remedy="choose another question"
            )
        if self.family == "gaussian":
            return Gaussian(value, self.ready.matrix, self.design)
        return Cumulative(value, self.ready.matrix, self.design)

    def _fitted(self, columns: Ints | None) -> GaussianFit | CumulativeFit:
        if isinstance(self._model, Cumulative):
            start = np.array([1.0 if name == "item" else 0.4 for name in self.ready.codes])
            return self._model.fit(start, columns)
        return self._model.fit(np.ones(len(self.ready.codes)))

    def mean(self) -> dict[str, Any]:
        """The row of the mean answer."""
        intercept = np.eye(1, self.ready.matrix.shape[1])[0]
        made = self._contrast(intercept, np.inf, self.confidence)
        return {"term": "mean", "level": "all", "versus": "zero", **made}

    def effects(self) -> list[dict[str, Any]]:
        """Of a cumulative model one row per term, and two per level: against the mean of the levels, and the base."""
        fit = self.fit
        rows: list[dict[str, Any]] = []
        if not isinstance(fit, CumulativeFit):
            raise TypeError("a linear model has the analysis of groups")
        codes = [show_code(code) for code in fit.model.codes.tolist()]
        for place, (value, se) in enumerate(zip(fit.thresholds, fit.threshold_errors, strict=True)):
            named = {"term": "threshold", "level": f"{codes[place]}|{codes[place + 1]}", "versus": "zero"}
            rows.append({**named, **Contrast(float(value), float(se)).stated(self.confidence), "se": float(se)})
        people = int(self.ready.codes.get(GROUP, self.ready.codes["rater"]).max()) + 1
        inside = sum(len(term.columns) for term in self.ready.terms if term.of_raters)
        for term in self.ready.terms:
            freedom = float(max(people - 1 - inside, 1)) if term.of_raters else np.inf
            means, covariance = fit.margins(term.contrasts, self.ready.matrix[:, term.columns])
            rows.append({"term": term.name, **self._joint(term, means, covariance, freedom)})
            unit = np.eye(len(term.levels))
            others: dict[str, Any] = {"mean of levels": 1 / len(unit)} if term.number is None else {}
            others[term.base] = unit[term.levels.index(term.base)]
            for place, level in enumerate(term.levels):
                there = term.code == place if term.number is None else term.code >= 0
                size = self.ready.frame.filter(pl.Series(there))["rater"].n_unique()
                for versus, other in others.items():
                    weights = unit[place] - other
                    if not weights.any():
                        continue
                    error = float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
                    shown = Contrast(float(weights @ means), error, freedom).stated(self.confidence, "points")
                    row = self._contrast(weights @ term.contrasts, freedom, self.confidence)
                    rows.append({"term": term.name, "level": level, "versus": versus, **row, **shown, "raters": size})
        return rows

    def _contrast(self, weights: Floats, freedom: float, confidence: float) -> dict[str, Any]:
        """A linear combination of the fixed effects, with its interval and its p value."""
        se = float(np.sqrt(weights @ self.fit.covariance @ weights))
        contrast = Contrast(float(weights @ self.fit.beta), se, freedom)
        return {**contrast.stated(confidence), "se": se, "over": self._over, "p": contrast.p}

    @property
    def _over(self) -> str:
        """What intervals are over."""
        return over_units("both", self.ready.codes.get(SOURCE), self.ready.codes.get(GROUP))

    def _joint(self, term: Term, means: Floats, covariance: Floats, freedom: float) -> dict[str, Any]:
        """The tests of a term, and the largest difference between two of its levels in points of the scale."""
        pairs = list(combinations(range(len(term.levels)), 2))
        places = max(pairs, key=lambda pair: abs(means[pair[0]] - means[pair[1]]))
        first, second = sorted(places, key=lambda place: -means[place])
        variance = float(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])
        all_at_once = 1 - (1 - self.confidence) / len(pairs)
        apart = Contrast(float(means[first] - means[second]), float(np.sqrt(max(variance, 0.0))), freedom)
        low, high = apart.ends(all_at_once)
        kept = np.setdiff1d(np.arange(self.ready.matrix.shape[1]), term.columns)
        without = self._fitted(kept)
        statistic = max(2 * (self.fit.log_likelihood - without.log_likelihood), 0.0)
        p_lr = float(chdtrc(len(term.columns), statistic))
        p_permutation = self._permutation(term, without) if isinstance(without, CumulativeFit) else None
        row = self._contrast(term.contrasts[first] - term.contrasts[second], freedom, all_at_once)
        return {
            "level": f"{term.levels[first]} − {term.levels[second]}",
            "versus": "clearest difference",
            **row,
            **apart.stated(all_at_once, "points"),
            "p": p_lr if p_permutation is None else p_permutation,
            "statistic": statistic,
            "df": len(term.columns),
            "p_lr": p_lr,
            "p_permutation": p_permutation,
            "higher": term.levels[first],
            "lower": term.levels[second],
            **apart.stated(all_at_once, "difference"),
            "excluded": max(abs(low), abs(high)),
        }

    def _permutation(self, term: Term, without: CumulativeFit) -> float | None:
        """The share of permutations of a term's values over raters that explain as much as the values themselves.

        What the model without the term leaves of each rater is a score; groups are compared by their sums of scores, in
        units of the scores' variance. The observed arrangement counts as one of the permutations (Phipson and Smyth
        2010).
        """
        rater = self.ready.codes["rater"]
        there = (rater >= 0) & (term.code >= 0)
        if not term.of_raters or not there.any() or self.permutations < 1:
            return None
        first = np.unique(rater[there], return_index=True)[1]
        people = rater[there][first]
        if len(people) < FEW_RATERS or (len(np.unique(term.code[there])) < 2 and term.number is None):
            return None
        size = int(rater.max()) + 1
        score = np.bincount(rater[there], without.scores[there], size)[people]
        information = np.bincount(rater[there], without.information[there], size)[people]
        variance = without.variances[list(self.ready.codes).index("rater")]
        weight = information / (1 + variance * information)
        score = score - weight * score.sum() / weight.sum()
        values = term.code[there][first] if term.number is None else term.number[there][first]
        drawn = self.ready.codes[GROUP][there][first] if GROUP in self.ready.codes else None
        rng = np.random.default_rng(self.seed)
        observed = _between(score, weight, values[None], term.number is None)[0]

        def beyond(many: int) -> Flags:
            sizes = blocks(len(people), many)
            if drawn is None:
                orders = (np.argsort(rng.random((rows, len(people))), axis=1) for rows in sizes)
            else:
                orders = (np.stack([dealt_anew(values, drawn, rng) for _ in range(rows)]) for rows in sizes)
            moved = [_between(score, weight, values[order], term.number is None) for order in orders]
            return np.asarray(np.concatenate(moved) >= observed * (1 - 1e-9))

        return permutation_p(beyond, self.permutations)

    def variance(self) -> list[dict[str, Any]]:
        """One row per component, with the log-likelihood of the model."""
        fit = self.fit
        component = [*self.ready.codes, *(["residual"] if self.family == "gaussian" else [])]
        apart, shown = raters_of_parts(self.ready.frame, self.design.components(), 3)
        reason = (
            f"raters fall into {apart} parts that share no items ({shown}); only an assumption "
            "separates differences between parts from differences between items"
        )
        rows: list[dict[str, Any]] = []
        total, ends = float(sum(fit.variances)), fit.variance_intervals(self.confidence)
        for name, value, (low, high) in zip(component, fit.variances, ends, strict=True):
            size = int(self.ready.codes[name].max()) + 1 if name in self.ready.codes else None
            row = {"component": name, "estimate": float(value), "low": low, "high": high, "over": self._over}
            share = float(value / total) if self.family == "gaussian" else None
            row |= {"levels": size, "sd": float(np.sqrt(value)), "share": share}
            rows.append({**row, "log_likelihood": fit.log_likelihood, "reason": reason if apart > 1 else None})
        return rows

    def levels(self, show: str) -> list[dict[str, Any]]:
        """The shrunken estimate of every rater, item, or item within a group."""
        interactions = [name for name in self.ready.codes if name not in ("item", "rater")]
        wanted = {"raters": ["rater"], "items": ["item"], "interactions": interactions}[show]
        if not wanted:
            raise InputError("the model has no interactions", remedy="pass interactions, such as item:gender")
        rows = []
        for name in wanted:
            mean, error = self.fit.effects[list(self.ready.codes).index(name)]
            code = self.ready.codes[name]
            _, first = np.unique(code, return_index=True)
            first = first[code[first] >= 0]
            label, over = ("rater", "items") if name == "rater" else ("item", "raters")
            own = {label: self.ready.frame[label].gather(first).to_list()}
            if name not in ("item", "rater"):
                own["level"] = self.ready.frame[name.removeprefix("item × ")].gather(first).cast(pl.String).to_list()
            size = np.bincount(code[code >= 0])
            for n, (value, se) in enumerate(zip(mean.tolist(), error.tolist(), strict=True)):
                named = {column: values[n] for column, values in own.items()}
                rows.append({**named, **around(value, se, self.confidence), "over": over, "judgments": int(size[n])})
        return rows


def around(estimate: float, se: float, confidence: float) -> dict[str, float]:
    """An estimate with its standard error and its interval, of as many degrees of freedom as a normal one has."""
    return {**Contrast(estimate, se).stated(confidence), "se": se}


def raters_of_parts(frame: pl.DataFrame, places: Ints, most: int) -> tuple[int, str]:
    """How many parts without common items there are, and some raters of each, at most so many."""
    parted = frame.with_columns(__part=pl.Series(places)).group_by("__part").agg(pl.col("rater").unique().sort())
    raters = parted.sort("__part")["rater"].to_list()
    shown = "; ".join(", ".join(map(str, some[:most])) + (" …" if len(some) > most else "") for some in raters[:4])
    return len(raters), shown + (" …" if len(raters) > 4 else "")


def one_question(part: Part, question: str | None) -> Part:
    """The answers to one question; several questions must be told apart."""
    asked = part.frame["question"].unique().sort().to_list()
    if question is not None:
        if question not in asked:
            raise InputError(f"there is no question '{question}'", remedy=nearest(question, asked))
        return replace(part, frame=part.frame.filter(pl.col("question") == question))
    if len(asked) > 1:
        shown = ", ".join(f"'{one}'" for one in asked[:6])
        raise InputError(
            f"a model is for one question, and there are {len(asked)} ({shown})",
            remedy="choose one, or group by question",
        )
    return part


def _family(asked: str, ready: Prepared) -> str:
    points = ready.frame["value"].n_unique()
    if asked == "binary" and points > 2:
        raise InputError(f"the answers have {points} values, not two", remedy="use family ordinal or gaussian")
    if asked == "ordinal" and points > MANY_POINTS:
        raise InputError(f"an ordinal model of {points} points has too many thresholds", remedy="use family gaussian")
    return "gaussian" if asked == "auto" else asked


def _between(score: Floats, weight: Floats, values: Any, grouped: bool) -> Floats:
    """How much of the scores each row of values explains: squared sums by group, in units of their variance."""
    if not grouped:
        centred = values - (values @ weight / weight.sum())[:, None]
        return np.asarray(np.square(centred @ score) / np.maximum(np.square(centred) @ weight, 1e-300))
    out = np.zeros(len(values))
    for level in np.unique(values[0]):
        there = values == level
        out += np.square(there @ score) / np.maximum(there @ weight, 1e-300)
    return out
