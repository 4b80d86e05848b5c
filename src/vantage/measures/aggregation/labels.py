"""Aggregation: from the answers of several raters to one value, one band or one distribution per unit.

Every rule has a name and says what it does with ties; nothing is decided silently. A result of `aggregate`
has the columns of judgments (`item`, `question`, `condition`, `value`), so it can serve as a reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.aggregation.latent_classes import DawidSkene, Mace, dawid_skene, mace
from vantage.measures.base import measure, table
from vantage.measures.intervals import Weighting, wilson
from vantage.measures.parts import (
    Part,
    Rounding,
    check_level,
    counts,
    names,
    neutral_point,
    parts,
    reach_zero,
    rising_bands,
    rounded,
    scales_of,
    unit_table,
)
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import (
    OPTED_OUT,
    UNIT,
    By,
    Floats,
    Judgments,
    Ratings,
    canonical,
    judgments_frame,
    questions_apart,
    weight_of,
)
from vantage.scales import Band, Scale, show_code

Method: TypeAlias = Literal["mean", "median", "majority", "strict-majority", "signs", "dawid-skene", "mace"]
Model: TypeAlias = Literal["dawid-skene", "mace"]
Ties: TypeAlias = Literal["none", "neutral", "random", "lowest"]
"""No value, the neutral point, one of the tied answers after a seed, or the lowest of them."""

FEW_RATERS: Final = 3
UNIDENTIFIED: Final = "fewer than three raters: the answers alone do not tell which of them is right"
ONE_LABEL: Final = (
    "most raters gave one answer to all of these items: who knows it cannot be told from who always gives it"
)
EQUAL: Final = "two answers are equally probable"
TIED: Final = 1e-6
"""Probabilities that differ by less are equal."""
SIDES: Final = ("low", "neutral", "high")
"""The bands of a scale that declares none: the two sides of its neutral point, and that point."""

_ANSWERED: Final = pl.col("value").is_not_null()


AGGREGATE_VIEW: Final = View("One value per item", columns={"value": Column(digits=2)})


@measure("aggregate", "aggregation", view=AGGREGATE_VIEW, pools_questions=True)
def aggregate(
    data: Judgments,
    *,
    by: By = (),
    method: Method = "mean",
    ties: Ties = "none",
    rounding: Rounding = "none",
    coarse: bool = False,
    neutral: float | None = None,
    per: Literal["item", "band"] = "item",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """One value per unit from the answers of its raters.

    * `mean` and `median`, to which `rounding` applies: `half_up` is ⌊x + ½⌋, `half_even` rounds ½ to even;
    * `majority`: the most frequent answer; a tie is when several are equally frequent;
    * `strict-majority`: the answer of more than half; a tie is when there is none;
    * `signs`: the sign of (answers above neutral − answers below), which ignores neutral answers; a tie is
      when there are as many above as below, and some;
    * `dawid-skene` and `mace`: the most probable answer under a model of the raters (Dawid and Skene 1979;
      Hovy et al. 2013), fitted to each question on its own.

    A tie gives null and a reason (`none`), the neutral point, one of the leading answers at `random` (after
    `seed`), or the `lowest` of them. `neutral` is zero where a scale has both signs, and the middle of other
    scales; in a plain table it is zero, and unknown where all answers lie on one side of that. `band` names the
    scale's band that holds the value; without declared bands, or when `neutral` is given, it is low, neutral or
    high by the side of the neutral point, and null where that is unknown. With `coarse=True`
    raters vote on bands, and the value is the band's place counted from the middle one. `share` is the share
    of answers that agree with the value, or its probability under a model; a mean or median has none.

    With `per="band"` there is a row for each question and band: the `count` of units that fall into it, and as
    `estimate` their share, with Wilson's interval (1927). Units without a value are counted in `undecided`.

    >>> votes = {"item": ["a", "a", "a", "b", "b"], "rater": [1, 2, 3, 1, 2], "value": [-2, -1, 3, 1, -1]}
    >>> aggregate(votes)["value"].to_list()
    [0.0, 0.0]
    >>> aggregate(votes, method="signs", ties="neutral").select("item", "value", "band", "share").rows()
    [('a', -1.0, 'low', 0.66...), ('b', 0.0, 'neutral', 0.0)]
    >>> aggregate(votes, method="signs", ties="neutral", per="band").select("band", "count", "estimate").rows()
    [('low', 1, 0.5), ('neutral', 1, 0.5), ('high', 0, 0.0)]
    """
    rule = _Rule(method, ties, rounding, coarse, neutral, seed)
    if per == "band":
        return _by_band(data, questions_apart(by, data), rule, confidence)
    columns = names(by)
    frames = []
    for part in parts(data, list(dict.fromkeys([*columns, "question"]))):
        units = rule.apply(part).with_columns(pl.col("value").alias("estimate"))
        frames.append(unit_table(units, part, columns, UNIT, ("value", "band", "share"), _ANSWERED))
    if not frames:
        return table([])
    return pl.concat(frames).sort(list(dict.fromkeys([*columns, *UNIT])), nulls_last=True)


def _by_band(data: Judgments, by: By, rule: _Rule, confidence: float) -> pl.DataFrame:
    """How many units fall into each band."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence} is not between 0 and 1", remedy="use for example 0.95")
    rows: list[dict[str, Any]] = []
    for part in parts(data, by):
        scale = part.scale()
        check_level(scale, part.frame, "a coarse band")
        units = rule.apply(part)
        placed = units.drop_nulls("band")
        about = {"undecided": len(units) - len(placed), **counts(part.answered, part.frame)}
        for band in rule.bands(scale, part).names:
            count = int((placed["band"] == band).sum())
            row = {**part.key, "band": band, "count": count, **about}
            if len(placed):
                low, high = wilson(count, len(placed), confidence)
                rows.append({**row, "estimate": count / len(placed), "low": low, "high": high, "over": "items"})
            else:
                rows.append({**row, "reason": "no unit has a value"})
    return table(rows, by)


SOFT_LABELS_VIEW: Final = View(
    "Distribution of the answers to each item", columns={"share": Column(percent=True, digits=0)}
)


@measure("soft-labels", "aggregation", view=SOFT_LABELS_VIEW, pools_questions=True)
def soft_labels(
    data: Judgments,
    *,
    by: By = (),
    opt_outs: bool = False,
    smoothing: float = 0.0,
    weights: Weighting = None,
) -> pl.DataFrame:
    """The distribution of each unit's answers: one row per unit and answer, with its count and share.

    The answers are the codes of the scale, or all values that a plain table has for the question. With
    `opt_outs=True` they include opt-outs, which have no code. `smoothing` is added to every count
    (Lidstone 1920), so that with 1 no answer is impossible. `weights` names a column of raters: shares are then those
    of people whom the weights make the raters stand for, and `count` still counts raters.

    >>> votes = {"item": ["a", "a", "a", "b"], "rater": [1, 2, 3, 1], "value": [0, 0, 1, 1]}
    >>> soft_labels(votes).select("item", "code", "count", "share").rows()
    [('a', 0.0, 2, 0.66...), ('a', 1.0, 1, 0.33...), ('b', 0.0, 0, 0.0), ('b', 1.0, 1, 1.0)]
    """
    if not (smoothing >= 0 and np.isfinite(smoothing)):
        raise InputError(f"smoothing {smoothing} is not a number from 0 up", remedy="use 0 or 1")
    columns = names(by)
    options = _options(data, opt_outs)
    status = pl.when(_ANSWERED).then(pl.lit("answered")).otherwise(pl.col("status").cast(pl.String))
    used = _ANSWERED | (OPTED_OUT & opt_outs)
    own = ("code", "answer", "count", "share", "place")
    frames = []
    for part in parts(data, list(dict.fromkeys([*columns, "question"]))):
        given = part.frame.filter(used).select(
            *UNIT, status=status, code="value", weight=weight_of(part.frame.filter(used)["rater"], weights)
        )
        # Weights add up to the effective number of a unit's raters, to which smoothing adds.
        scaled = pl.col("weight") * (pl.col("weight").sum() / pl.col("weight").pow(2).sum()).over(UNIT)
        tallied = (
            given.with_columns(weight=scaled)
            .group_by([*UNIT, "code", "status"])
            .agg(pl.len().cast(pl.Int64).alias("count"), pl.col("weight").sum())
        )
        grid = part.frame.select(UNIT).unique().join(options, on="question", nulls_equal=True)
        filled = grid.join(tallied, on=[*UNIT, "code", "status"], how="left", nulls_equal=True)
        total = pl.col("weight").sum().over(UNIT)
        share = (pl.col("weight") + smoothing) / (total + smoothing * pl.len().over(UNIT))
        units = filled.with_columns(pl.col("count", "weight").fill_null(0)).with_columns(
            pl.when(total > 0).then(share).alias("share"),
            pl.when(total > 0).then(share).alias("estimate"),
            pl.when(total == 0).then(pl.lit("nobody gave an answer")).alias("reason"),
        )
        frames.append(unit_table(units, part, columns, UNIT, own, used))
    if not frames:
        return table([])
    order = list(dict.fromkeys([*columns, *UNIT, "place"]))
    return pl.concat(frames).sort(order, nulls_last=True).drop("place")


COMPETENCE_VIEW: Final = View(
    "How often each rater is right, as a model of all raters estimates it",
    columns={"estimate": Column("competence", digits=2)},
)


@measure("competence", "aggregation", view=COMPETENCE_VIEW, follows=True)
def competence(data: Judgments, *, by: By = (), method: Model = "mace", seed: int = 0) -> pl.DataFrame:
    """How often each rater is right, as far as a model of all raters can tell without knowing the truth.

    With `mace` it is the probability that the rater knows the answer rather than guesses (Hovy et al. 2013);
    with `dawid-skene` the probability that the rater's answer is the true class (Dawid and Skene 1979).
    Fewer than three raters do not tell who of them is right.

    >>> votes = [[0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 0], [1, 0, 0, 1, 1, 0]]
    >>> competence(votes).sort("estimate")["rater"].to_list()[0]
    3
    """
    rows: list[dict[str, Any]] = []
    for part in parts(data, by):
        named = canonical(part.answered)
        about = counts(part.answered, part.frame)
        if len(named.ratings) == 0:
            rows.append({**part.key, "rater": None, **about, "reason": "nobody gave an answer"})
            continue
        if named.ratings.coders < FEW_RATERS:
            rows += [{**part.key, "rater": rater, **about, "reason": UNIDENTIFIED} for rater in named.raters]
            continue
        model, ratings = _fit(named.ratings, method, seed), named.ratings
        usual, _ = majority(ratings, strict=False, ties="lowest", neutral=0.0, seed=seed)
        given = pl.DataFrame({"rater": ratings.coder, "usual": usual[ratings.unit]})
        raters = given.group_by("rater").agg(pl.len(), pl.col("usual").n_unique()).sort("rater")
        for rater, estimate, (_, n, answers) in zip(named.raters, model.competence, raters.iter_rows(), strict=True):
            # Who may guess as they like is as likely to know the usual answer as to guess it.
            result = {"reason": ONE_LABEL} if method == "mace" and answers == 1 else {"estimate": float(estimate)}
            rows.append({**part.key, "rater": rater, **result, **about, "judgments": n})
    return table(rows, by)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How the answers to a unit become one value: the options of `aggregate`."""

    method: Method
    ties: Ties
    rounding: Rounding
    coarse: bool
    neutral: float | None
    seed: int

    def apply(self, part: Part) -> pl.DataFrame:
        """The units of a part with `value`, `band`, `share` and, where value or probability is missing, `reason`."""
        scale = part.scale()
        if self.coarse or self.method in ("mean", "median", "signs"):
            check_level(scale, part.frame, "a coarse band" if self.coarse else f"a vote by {self.method}")
        named = canonical(part.answered)
        if len(named.ratings) == 0:
            value, share, problem = np.empty(0), np.empty(0), ""
        else:
            value, share, problem = self._values(named.ratings, scale, part)
        placed: list[str | None] = [None] * len(value)
        if scale.ordered if scale is not None else self.neutral is not None or reach_zero(part.ends):
            bands = self.bands(scale, part)
            placed = bands.named(value if self.coarse or self.method == "signs" else bands.place(value))
        frame = named.units.with_columns(
            pl.Series("value", value).fill_nan(None),
            pl.Series("band", placed, pl.String),
            pl.Series("share", share).fill_nan(None),
        )
        needed = ["value", "share"] if self.method in get_args(Model) else ["value"]
        missing = pl.any_horizontal(pl.col(needed).is_null())
        frame = frame.with_columns(pl.when(missing).then(pl.lit(problem)).alias("reason"))
        if not part.frame["value"].null_count():
            return frame
        silent = part.frame.select(UNIT).unique().join(frame, on=UNIT, how="anti", nulls_equal=True)
        silent = silent.with_columns(pl.lit("nobody gave an answer").alias("reason"))
        return pl.concat([frame, silent], how="diagonal_relaxed") if len(silent) else frame

    def bands(self, scale: Scale | None, part: Part) -> _Bands:
        """The bands that a value may fall into."""
        neutral = neutral_point(scale, part.ends) if self.neutral is None else self.neutral
        if scale is None or not scale.bands or self.neutral is not None:
            return _Bands(SIDES, (), neutral)
        rising = tuple(rising_bands(scale))
        # A sign has three values, so it can only be named by the bands of a scale that has three.
        shown = SIDES if self.method == "signs" and len(rising) != 3 else tuple(band.name for band in rising)
        return _Bands(shown, rising, neutral)

    def _values(self, ratings: Ratings, scale: Scale | None, part: Part) -> tuple[Floats, Floats, str]:
        """Each unit's value and share (NaN for none), and why a value would be missing."""
        if self.method in ("mean", "median"):
            value = rounded(centre(ratings, median=self.method == "median"), self.rounding)
            place = self.bands(scale, part).place(value) if self.coarse else value
            return place, np.full(ratings.units, np.nan), ""
        if self.coarse or self.method == "signs":
            ratings = replace(ratings, value=self.bands(scale, part).place(ratings.value))
        if self.method == "signs":
            return *signs(ratings, ties=self.ties, seed=self.seed), "as many answers are high as low"
        if self.method in get_args(Model):
            if ratings.coders < FEW_RATERS:
                agreed, share = majority(ratings, strict=False, ties="none", neutral=0.0, seed=self.seed)
                return agreed, np.full_like(share, np.nan), UNIDENTIFIED
            model = _fit(ratings, self.method, self.seed)
            if isinstance(model, DawidSkene):
                leading = np.sort(model.posterior, axis=1)[:, -2:]
                tied = (np.ptp(leading, axis=1) < TIED) & (leading.shape[1] > 1)
                return np.where(tied, np.nan, model.labels), np.where(tied, np.nan, model.confidence), EQUAL
            return model.labels, model.confidence, ""
        neutral = 0.0
        if self.ties == "neutral":
            scheme = self.bands(scale, part)
            self._check_neutral(ratings, scale, scheme)
            neutral = 0.0 if self.coarse else scheme.neutral
        strict = self.method == "strict-majority"
        value, share = majority(ratings, strict=strict, ties=self.ties, neutral=neutral, seed=self.seed)
        return value, share, "no answer has more than half" if strict else "several answers lead"

    def _check_neutral(self, ratings: Ratings, scale: Scale | None, scheme: _Bands) -> None:
        """Refuses to turn ties into something that nobody could have answered."""
        if self.coarse:
            possible = len(scheme.names) % 2 == 1
        elif scale is not None:
            possible = scale.ordered and scale.holds(scheme.neutral)
        else:
            possible = bool(ratings.value.min() <= scheme.neutral <= ratings.value.max())
        if not possible:
            raise InputError(
                f"there is no neutral answer for ties: {show_code(scheme.neutral)} is not one of the answers",
                remedy="give the option neutral, or ties='none', 'random' or 'lowest'",
            )


@dataclass(frozen=True, slots=True)
class _Bands:
    """Coarse bands from low to high: a scale's own, or the two sides of a neutral point."""

    names: tuple[str, ...]
    declared: tuple[Band, ...]
    neutral: float

    def place(self, value: Floats) -> Floats:
        """The place of each value's band, counted from the middle one: −1, 0, 1 where there are three."""
        if not self.declared:
            return np.asarray(np.sign(value - self.neutral))
        distinct, which = np.unique(value, return_inverse=True)
        middle = (len(self.declared) - 1) / 2
        places = [next((i - middle for i, b in enumerate(self.declared) if b.holds(v)), np.nan) for v in distinct]
        return np.asarray(np.array(places, dtype=np.float64)[which.reshape(-1)])

    def named(self, place: Floats) -> list[str | None]:
        """The names of the bands at these places."""
        middle = (len(self.names) - 1) / 2
        return [None if np.isnan(p) else self.names[int(p + middle)] for p in place.tolist()]


def _fit(ratings: Ratings, method: str, seed: int) -> DawidSkene | Mace:
    return mace(ratings, seed=seed) if method == "mace" else dawid_skene(ratings)


def _options(data: Judgments, opt_outs: bool) -> pl.DataFrame:
    """The answers that each question allows: code, wording, status, and their place in the order shown."""
    frame = judgments_frame(data)
    declared = scales_of(data)
    rows: list[tuple[Any, float | None, str, str, int]] = []
    for (question,), asked in frame.partition_by("question", as_dict=True).items():
        scale = declared.get(str(question))
        observed = asked["value"].drop_nulls().unique().sort().to_list()
        codes = list(scale.codes) if scale is not None and scale.codes else observed
        answers = [(code, scale.label(code) if scale else show_code(code), "answered") for code in codes]
        if opt_outs:
            seen = asked.filter(~_ANSWERED & OPTED_OUT)["status"].cast(pl.String).unique().sort().to_list()
            allowed = [o.status for o in scale.opt_outs] if scale else []
            answers += [(None, status, status) for status in dict.fromkeys([*allowed, *seen])]
        rows += [(question, *answer, place) for place, answer in enumerate(answers)]
    types: dict[str, Any] = {
        "question": frame.schema["question"],
        "code": pl.Float64,
        "answer": pl.String,
        "status": pl.String,
        "place": pl.Int64,
    }
    return pl.DataFrame(rows, schema=types, orient="row")


def majority(ratings: Ratings, *, strict: bool, ties: Ties, neutral: float, seed: int) -> tuple[Floats, Floats]:
    """The most frequent answer of each unit.

    It is a tie when several answers are equally frequent; with `strict`, when none has more than half.

    >>> unit, rater = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    >>> ratings = Ratings.of(unit, rater, np.array([2.0, 2, 3, 2, 3]))
    >>> majority(ratings, strict=False, ties="lowest", neutral=0.0, seed=0)
    (array([2., 2.]), array([0.66666667, 0.5       ]))
    """
    classes, code = np.unique(ratings.value, return_inverse=True)
    cells, count = np.unique(ratings.unit * len(classes) + code.reshape(-1), return_counts=True)
    unit, answer = cells // len(classes), classes[cells % len(classes)]
    begin = np.searchsorted(unit, np.arange(ratings.units))
    most, n = np.maximum.reduceat(count, begin), np.add.reduceat(count, begin)
    leads = np.flatnonzero(count == most[unit])
    leaders = np.bincount(unit[leads], minlength=ratings.units)
    tied = 2 * most <= n if strict else leaders > 1
    lead = np.cumsum(leaders) - leaders
    if ties == "random":
        lead = lead + np.random.default_rng(seed).integers(0, leaders)
    value, agreeing = answer[leads[lead]], most.astype(np.float64)
    if ties == "none":
        value[tied] = agreeing[tied] = np.nan
    elif ties == "neutral":
        value[tied] = neutral
        agreeing[tied] = np.bincount(unit, count * (answer == neutral), minlength=ratings.units)[tied]
    return value, agreeing / n


def signs(ratings: Ratings, *, ties: Ties, seed: int) -> tuple[Floats, Floats]:
    """The sign of (positive answers − negative answers) of each unit; zeros have no say.

    It is a tie when there are as many positive as negative answers, and some; a unit of zeros is zero.

    >>> unit, rater = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    >>> ratings = Ratings.of(unit, rater, np.array([0.0, 0, 3, -1, 1]))
    >>> signs(ratings, ties="neutral", seed=0)
    (array([1., 0.]), array([0.33333333, 0.        ]))
    """
    above = np.bincount(ratings.unit, ratings.value > 0, minlength=ratings.units)
    below = np.bincount(ratings.unit, ratings.value < 0, minlength=ratings.units)
    n = np.bincount(ratings.unit, minlength=ratings.units)
    value = np.sign(above - below)
    tied = (value == 0) & (above > 0)
    if ties == "none":
        value[tied] = np.nan
    elif ties == "lowest":
        value[tied] = -1.0
    elif ties == "random":
        value[tied] = 2.0 * np.random.default_rng(seed).integers(0, 2, ratings.units)[tied] - 1.0
    agreeing = np.where(value > 0, above, np.where(value < 0, below, n - above - below))
    return value, np.where(np.isnan(value), np.nan, agreeing / n)


def centre(ratings: Ratings, *, median: bool) -> Floats:
    """The mean, or the median, of each unit's answers."""
    count = np.bincount(ratings.unit, minlength=ratings.units)
    if not median:
        return np.bincount(ratings.unit, ratings.value, minlength=ratings.units) / count
    rising = ratings.value[np.lexsort((ratings.value, ratings.unit))]
    start = np.cumsum(count) - count
    return np.asarray((rising[start + (count - 1) // 2] + rising[start + count // 2]) / 2)
