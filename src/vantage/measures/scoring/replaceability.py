"""Can a model stand in for a person? The alternative annotator test (Calderon, Reichart and Dror 2025), and skill.

The test asks whether a model is as close to people as one of them. A rater that does not read can be: where most
answers are "no", always "no" is close, and where people differ about everything the middle of the scale is. So a model
stands in for a person only if it also agrees with people more than every rater that does not read (see `floors`), by an
agreement beyond chance, in which these have none: Cohen's (1960) kappa with single people, weighted by squared
differences (Cohen 1968) on ordered scales; and if no group of people is served worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl
import polars.selectors as cs
from scipy.special import ndtr, stdtr

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import OVER, SHARES, IntervalOptions
from vantage.measures.multiplicity import adjusted
from vantage.measures.parts import Part, check_level, names, parts
from vantage.measures.presentation import Column, Fact, View
from vantage.measures.rater_variance import several_items, without_raters
from vantage.measures.ratings import By, Floats, Judgments, has_column
from vantage.measures.relations.groups import trait_scales
from vantage.measures.resampling import Resampling, Statistics
from vantage.measures.scoring.error_gaps import known_traits, worse_for
from vantage.measures.scoring.floors import OWN, SKILL_COLUMNS, no_skill_raters, with_skill
from vantage.measures.scoring.references import sides_of
from vantage.measures.scoring.scores import Metric, Missing, Rules, Scores, label_set
from vantage.scales import Level, Scale

Alignment: TypeAlias = Literal["accuracy", "rmse", "mae"]

LEVEL: Final = 0.05
"""The rate of false discoveries over people (Benjamini and Yekutieli 2001)."""
PASSED: Final = 0.5
"""The winning rate at which a model passes."""
_FEWEST: Final = 3
"""With fewer tested people there is no verdict: the test is about people, and asks for three (Calderon et al. 2025)."""
_SMALL: Final = 30
"""With fewer items than this, differences are not taken for normal and signed ranks are tested."""


VIEW: Final = View(
    "Can a model stand in for a person? The alternative annotator test, and agreement beyond raters that do not read",
    columns={
        **SKILL_COLUMNS,
        "stands_in": Column("stands in for a person"),
        "passes": Column("passes the test"),
        "kappa": Column("agreement beyond chance", digits=2),
        "floor": Column("without reading", digits=2),
        "unread": Column("passes without reading"),
        "worse_for": Column("works worse for"),
        "estimate": Column("people it could replace", percent=True, digits=0),
        "advantage": Column("advantage probability", digits=2, interval=("advantage_low", "advantage_high")),
        "advantage_over": Column("interval over"),
        "tested": Column("people tested"),
        "answered": Column("items answered", percent=True, digits=0),
    },
    show=(
        *("model", "stands_in", "passes", "estimate", "advantage", "kappa", "floor", "ceiling", "skill"),
        *("unread", "worse_for", "tested", "items", "answered", "reason"),
    ),
    notes=(
        "A model passes when it could replace half of the people or more. It stands in for a person if it passes, "
        "agrees with people more than every rater that does not read, and works worse for no group of people.",
        "Agreement beyond chance is kappa with single people, weighted on ordered scales; the share of the way is 0 "
        "for the best rater that does not read and 100 % for a person, and more for whoever is closer to people than a "
        "person is to the others.",
    ),
    says=(
        Fact(
            "Models that can stand in for a person: {rows}.",
            row="{model}[ for {group}] (could replace {estimate} of the people; {skill} of the way from a rater that "
            "does not read to a person; {answered} of its items answered)",
            where="stands_in",
            none="No model that could be tested can stand in for a person.",
        ),
        Fact(
            "Raters that never read the texts pass this test too, so passing it says little: {rows}.",
            row="{unread}[ on {group}]",
            where="passes",
        ),
    ),
    method="Whether a model can stand in for a person was tested by the alternative annotator test with ε = {epsilon} "
    "(Calderon et al., 2025) and by agreement beyond chance (Cohen, 1960) above that of raters that do not read.",
    sources=("calderon2025", "cohen1960"),
)


@measure("alt-test", "replaceability", view=VIEW, pools=False, interval=("raters", "groups"))
def alt_test(
    data: Judgments,
    *,
    by: By = (),
    missing: Missing = "left_out",
    models: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    alignment: Alignment | None = None,
    level: Level | None = None,
    epsilon: float = 0.1,
    min_items: int = 30,
    match: By = ("item", "question"),
    traits: Sequence[str] | None = None,
    per: Literal["model", "person"] = "model",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """The alternative annotator test: does the model agree with people as well as one of them does?

    Each person is left out in turn. On every item they share with the model, the one whose answer is better aligned
    with the remaining people wins; both win a tie. `alignment` is the share of equal answers (`accuracy`), minus the
    root mean squared difference (`rmse`, the default for ordered scales) or minus the mean absolute one (`mae`). The
    model may replace the person if its share of wins is above the person's less `epsilon` (0.2 for experts, 0.15 for
    skilled and 0.1 for crowd annotators), by Student's t or, below 30 items, Wilcoxon's signed ranks, corrected over
    people. The winning rate, `estimate`, is the share of tested people whom the model may replace; it passes at one
    half or more. `advantage` is the mean share of wins, the number to compare models by. With `per="person"` there is a
    row for each person.

    Raters that do not read can pass too (`unread` names them). `kappa` is the model's agreement with single people
    beyond chance, `floor` that of the best rater that does not read, `ceiling` that of a person with the others, and
    `skill` the share of the way. `worse_for` names the groups of people, by `traits`, for whom the model works worse
    (see `error-gaps`). A model `stands_in` for a person if it passes, its agreement is above the floor (with 99.9 %
    certainty), and it works worse for nobody.

    Items that one person judged are not used, and people with fewer than `min_items` shared items are not tested; with
    fewer than three tested people there is no verdict. Items that the model left unanswered are left out, or lost with
    `missing="wrong"`; `answered` is the share that it answered.

    >>> import numpy as np
    >>> people = np.tile([0, 1, 1, 0], (3, 10)).astype(float)
    >>> people[0, :20] = 1 - people[0, :20]
    >>> table = np.vstack([people, people[1]])
    >>> alt_test(table, alignment="accuracy", models=["3"]).select("estimate", "passes", "advantage").rows()
    [(1.0, True, 1.0)]
    """
    if not 0 <= epsilon < 1:
        raise InputError(f"epsilon {epsilon} is not between 0 and 1", remedy="use for example 0.1")
    keys = names(match)
    known = known_traits(data, traits) if per == "model" else []
    declared = trait_scales(data)
    scales = {trait: declared.get(trait) for trait in known}
    of_people = per == "model" and "item" in keys
    bootstrap = Resampling(**resampling, over=OVER)
    if bootstrap.ci == "auto" and not of_people:
        bootstrap = replace(bootstrap, ci="items")
    with_kind = models is None or people is None
    rows: list[dict[str, Any]] = []
    extra = [*keys, *known, *(["kind"] if with_kind and has_column(data, "kind") else [])]
    for part in parts(data, by, extra=extra):
        chosen = alignment or _alignment(part, level)
        if chosen != "accuracy":
            check_level(part.scale(), part.frame, f"alignment by {chosen}")
        persons, tested = sides_of(part.frame, models, people)
        if tested.is_empty():
            rows.append({**part.key, "model": None, "reason": "no model was asked in this group"})
            continue
        meetings = Meetings.of(persons, keys, chosen)
        how = bootstrap.chosen(several_items(persons.filter(pl.col("value").is_not_null()), bootstrap.groups))
        rest = []
        if how.ci in ("raters", "both") and of_people:
            rest = [Meetings.of(others, keys, chosen) for others in without_raters(persons, how)]
        for model in tested["rater"].unique().sort():
            mine = tested.filter(pl.col("rater") == model)
            trial = Trial.of(meetings, mine, chosen, missing)
            verdicts = trial.verdicts(epsilon, min_items)
            head = {**part.key, "model": str(model)}
            options = {"alignment": chosen, "epsilon": epsilon}
            left_out = _left_out(persons, mine, trial, missing)
            if per == "person":
                rows += [{**head, **row, **options, "left_out": left_out} for row in trial.person_rows(verdicts, how)]
            else:
                without = [Trial.of(others, mine, chosen, missing) for others in rest]
                summary = trial.summary(verdicts, how, without)

                def passes(replies: pl.DataFrame, meetings: Meetings = meetings, chosen: Alignment = chosen) -> bool:
                    unread = Trial.of(meetings, replies, chosen, missing)
                    return (winning_rate(unread.verdicts(epsilon, min_items)) or 0) >= PASSED

                summary |= _verdict(summary["passes"], passes, meetings, mine, chosen, part.scale(), missing, bootstrap)
                if known and summary["stands_in"]:
                    worse = worse_for(
                        persons, mine, keys, scales, nominal=chosen == "accuracy", groups=bootstrap.groups
                    )
                    summary |= {"worse_for": worse, "stands_in": worse is None}
                if summary["tested"] < _FEWEST:
                    summary |= dict.fromkeys(("passes", "stands_in"))
                rows.append({**head, **summary, "answered": _answered(mine, keys), **options, "left_out": left_out})
    if rows and all(row["model"] is None for row in rows):
        raise InputError("all raters are people, so there is no model to test", remedy="name it with the option models")
    decided = cs.by_name("passes", "stands_in", require_all=False)
    return table(rows, names(by)).with_columns(decided.cast(pl.Boolean))


@dataclass(frozen=True, slots=True)
class Trial:
    """One model against each person left out in turn: who won on which item."""

    wins: pl.DataFrame
    """One row per person and item: `person`, the keys, `model_wins`, `person_wins` (1 or 0)."""
    people: list[str]

    @classmethod
    def of(cls, meetings: Meetings, model: pl.DataFrame, alignment: Alignment, missing: Missing) -> Trial:
        """The comparisons on all items that the model was asked about and enough people answered."""
        keys = meetings.keys
        answered = model.filter(pl.col("value").is_not_null())
        replies = answered.select([*keys, pl.col("value").alias("reply"), pl.int_range(pl.len()).alias("take")])
        asked = (answered if missing == "left_out" else model).select(keys).unique()
        met = meetings.others.join(replies, on=keys, nulls_equal=True)
        mine = _aligned(met, [*keys, "person"], pl.col("reply"), alignment).rename({"score": "mine"})
        wins = meetings.scores.join(asked, on=keys, how="semi", nulls_equal=True)
        wins = wins.join(mine, on=[*keys, "person"], how="left", nulls_equal=True).sort([*keys, "person"])
        # No reply counts as worse than any answer.
        model_score = wins["mine"].fill_null(-np.inf).to_numpy()
        person_score = wins["score"].to_numpy()
        tied = np.isclose(model_score, person_score, rtol=1e-9, atol=1e-12)
        return cls(
            wins.select("person", *keys).with_columns(
                pl.Series("model_wins", (tied | (model_score > person_score)).astype(np.float64)),
                pl.Series("person_wins", (tied | (person_score > model_score)).astype(np.float64)),
            ),
            meetings.people,
        )

    def verdicts(self, epsilon: float, min_items: int) -> list[dict[str, Any]]:
        """The test of every person, in the order of their names."""
        parted = {str(p): rows for (p,), rows in self.wins.group_by("person")}
        rows: list[dict[str, Any]] = []
        for person in self.people:
            wins = parted.get(person, self.wins.clear())
            row: dict[str, Any] = {"person": person, "shared": len(wins), "test": None, "p": None}
            if len(wins) < max(min_items, 2):
                few = f"{len(wins)} shared items, fewer than the {max(min_items, 2)} that a test needs"
                rows.append({**row, "reason": few})
                continue
            difference = (wins["person_wins"] - wins["model_wins"]).to_numpy()
            name = "t" if len(difference) >= _SMALL else "wilcoxon"
            rows.append({**row, "test": name, "p": replaced_p(difference, epsilon, name)})
        for row, p in zip(rows, adjusted([row["p"] for row in rows], "by"), strict=True):
            row["p_adjusted"] = p
            row["replaceable"] = None if p is None else p <= LEVEL
        return rows

    def person_rows(self, verdicts: Sequence[dict[str, Any]], how: Resampling) -> list[dict[str, Any]]:
        """One row per person: the two advantage probabilities and the verdict."""
        rows = []
        for verdict in verdicts:
            wins = self.wins.filter(pl.col("person") == verdict["person"])
            tested = {} if verdict["p"] is None else _advantage(wins, [verdict["person"]], how)
            rows.append({**verdict, "person_advantage": wins["person_wins"].mean(), **_rests_on(wins, 1), **tested})
        return rows

    def summary(self, verdicts: Sequence[dict[str, Any]], how: Resampling, without: Sequence[Trial]) -> dict[str, Any]:
        """One row for the model: winning rate, verdict and mean advantage probability.

        `without` are the trials from which people were left out in turn.
        """
        tested = [v["person"] for v in verdicts if v["p"] is not None]
        wins = self.wins.filter(pl.col("person").is_in(tested))
        row: dict[str, Any] = {
            "people": len(self.people),
            "tested": len(tested),
            **dict.fromkeys(("passes", "advantage", "advantage_low", "advantage_high", "advantage_over")),
            **_rests_on(wins, len(tested)),
        }
        if not tested:
            return {**row, "reason": "no person shares enough items with the model and with other people"}
        rate = winning_rate(verdicts) or 0.0
        advantage = _advantage(wins, tested, how, [trial.wins for trial in without])
        named = {"advantage": "estimate", "advantage_low": "low", "advantage_high": "high", "advantage_over": "over"}
        row |= {**{k: advantage[v] for k, v in named.items()}, "passes": rate >= PASSED, "estimate": rate}
        if len(tested) >= _FEWEST:
            return row
        few = f"{len(tested)} of {len(self.people)} people could be tested (others share too few items with the model)"
        return {**row, "reason": f"{few}; a verdict needs {_FEWEST}"}


def winning_rate(verdicts: Sequence[dict[str, Any]]) -> float | None:
    """The share of tested people whom the model may replace; null where nobody could be tested."""
    replaceable = [v["replaceable"] for v in verdicts if v["p"] is not None]
    return float(np.mean(replaceable)) if replaceable else None


@dataclass(frozen=True, slots=True)
class Meetings:
    """Who met whom: every person's answer beside the other people's answers to the same item."""

    answers: pl.DataFrame
    """The people's answers to items that enough of them answered."""
    pairs: pl.DataFrame
    """One row per answer (`value`) of a person and answer of another person (`other`) to the same item."""
    others: pl.DataFrame
    """The same without the answers of the person, once for each person."""
    scores: pl.DataFrame
    """One row per person and item: how well their answer is aligned with the others' (`score`)."""
    people: list[str]
    keys: list[str]

    @classmethod
    def of(cls, persons: pl.DataFrame, keys: list[str], alignment: Alignment) -> Meetings:
        """The meetings on all items that two people or more answered."""
        answers = persons.filter(pl.col("value").is_not_null()).select(
            [*keys, pl.col("rater").cast(pl.String).alias("person"), pl.col("value")]
        )
        enough = pl.col("person").n_unique().over(keys) > 1
        answers = answers.filter(enough).with_columns(pl.int_range(pl.len()).alias("take"))
        rest = answers.select([*keys, pl.col("person").alias("other_person"), pl.col("value").alias("other")])
        pairs = answers.join(rest, on=keys, nulls_equal=True).filter(pl.col("person") != pl.col("other_person"))
        scores = _aligned(pairs, [*keys, "person"], pl.col("value"), alignment)
        # A person who answered twice is left out once.
        first = pl.col("take") == pl.col("take").min().over([*keys, "person"])
        others = pairs.filter(first).select([*keys, "person", "other"])
        return cls(
            answers.drop("take"),
            pairs.drop("take", "other_person"),
            others,
            scores,
            sorted({str(p) for p in persons["rater"]}),
            keys,
        )


def _aligned(rows: pl.DataFrame, keys: Sequence[str], answer: pl.Expr, alignment: Alignment) -> pl.DataFrame:
    """Alignment of an answer with the `other` answers of the same keys, averaged over repeated `take`s."""
    score = {
        "accuracy": (answer == pl.col("other")).mean(),
        "rmse": -((answer - pl.col("other")) ** 2).mean().sqrt(),
        "mae": -(answer - pl.col("other")).abs().mean(),
    }[alignment]
    takes = rows.group_by([*keys, "take"]).agg(score.alias("score"))
    return takes.group_by(list(keys)).agg(pl.col("score").mean())


def replaced_p(difference: Floats, epsilon: float, test: str = "t") -> float:
    """One-sided p-value of "the person wins more often than the model, by epsilon or more"."""
    away, spread = float(difference.mean()) - epsilon, float(difference.std(ddof=1))
    if spread == 0:
        return float(away >= 0)
    if test == "t":
        return float(stdtr(len(difference) - 1, away / (spread / len(difference) ** 0.5)))
    # Ties rule the exact distribution out; the normal approximation with their correction holds (Wilcoxon 1945).
    above = difference - epsilon
    above = above[above != 0]
    _, kind, times = np.unique(np.abs(above), return_inverse=True, return_counts=True)
    ranks, n = np.cumsum(times) - (times - 1) / 2, len(above)
    variance = n * (n + 1) * (2 * n + 1) / 24 - (times**3 - times).sum() / 48
    return float(ndtr((ranks[kind][above > 0].sum() - n * (n + 1) / 4) / variance**0.5))


def _advantage(
    wins: pl.DataFrame, people: Sequence[str], how: Resampling, without: Sequence[pl.DataFrame] = ()
) -> dict[str, Any]:
    """The model's advantage probability, averaged over people, with its interval.

    `without` are the same wins where people were left out in turn.
    """
    item = wins["item"].to_list() if "item" in wins.columns else list(range(len(wins)))
    position = {name: number for number, name in enumerate(sorted(set(item)))}
    places = {person: place for place, person in enumerate(people)}

    def statistic(wins: pl.DataFrame, item: Sequence[Any]) -> Statistics:
        code = np.array([position[name] for name in item], dtype=np.int64)
        won = wins["model_wins"].to_numpy()
        # Whoever is not among the people comes last, and is left out.
        who = wins["person"].replace_strict(places, default=len(people), return_dtype=pl.Int64).to_numpy()
        rows, columns = len(position), len(people) + 1
        won_by, met_by = (
            np.bincount(code * columns + who, amount, rows * columns).reshape(rows, columns)[:, :-1]
            for amount in (won, np.ones(len(won)))
        )

        def mean_advantage(weight: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                each = (weight @ won_by) / (weight @ met_by)
            known = np.isfinite(each)
            return np.asarray((np.where(known, each, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1))[:, None])

        return mean_advantage

    def tables() -> list[Statistics]:
        some = [rest.filter(pl.col("item").is_in(list(position)), pl.col("person").is_in(people)) for rest in without]
        return [statistic(rest, rest["item"].to_list()) for rest in some if len(rest)]

    mean = statistic(wins, item)
    bounds = how.intervals(len(position), mean, tables, [SHARES], pl.Series(list(position)))[0]
    return {"estimate": float(mean(np.ones((1, len(position))))[0, 0]), **how.stated(bounds)}


def _verdict(
    passed: bool | None,
    passes: Callable[[pl.DataFrame], bool],
    meetings: Meetings,
    model: pl.DataFrame,
    alignment: Alignment,
    scale: Scale | None,
    missing: Missing,
    how: Resampling,
) -> dict[str, Any]:
    """Agreement beyond chance between the floor and a person, what passes unread, and whether the model stands in.

    Whether it works worse for a group of people is looked at later.
    """
    nothing = {"stands_in": None, "kappa": None, **dict.fromkeys(OWN), "unread": None, "worse_for": None}
    if passed is None or "item" not in meetings.keys:
        return nothing
    theirs = meetings.answers.rename({"value": "gold"}).drop("person")
    rows = model.with_columns(person=pl.lit(None, dtype=pl.String)).join(theirs, on=meetings.keys, nulls_equal=True)
    nominal = alignment == "accuracy"
    rules = Rules(label_set(rows, scale, None), missing=missing, opt_outs=missing)
    metric = [Metric("kappa" if nominal else "quadratic_kappa")]
    scores = Scores.of(rows, rules)
    items = scores.frame.select("item", "position").unique("item")
    pairs = meetings.pairs.join(scores.frame, on=meetings.keys, how="semi", nulls_equal=True)
    about = {"question": pl.lit(""), "condition": pl.lit(""), "sample": pl.lit(0), "status": pl.lit("answered")}
    single = pairs.with_columns(one.alias(name) for name, one in about.items() if name not in pairs.columns)
    people = Scores.of(single.rename({"other": "gold", "person": "rater"}), rules, items=items)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = float(scores.values(np.ones((1, scores.items)), metric)[0, 0]) if scores.items else np.nan
    row = {**nothing, "kappa": kappa if np.isfinite(kappa) else 0.0}
    raters = no_skill_raters(scores.frame, scale, ordered=not nominal, seed=how.seed)
    row |= with_skill(scores, [people], metric, how, raters)[0]
    if passed:
        size = len(scores.frame)
        answers = {name: made.unique([*meetings.keys, "sample"]) for name, made in raters.items() if len(made) == size}
        row["unread"] = ", ".join(name for name, made in answers.items() if passes(made)) or None
    above = row["above_floor"] if np.isfinite(kappa) else False  # who never varies has no agreement beyond chance
    row["stands_in"] = None if above is None else bool(passed and above)
    return row


def _answered(model: pl.DataFrame, keys: Sequence[str]) -> float:
    """The share of what the model was asked that it answered, at least once."""
    asked = model.group_by(keys).agg(pl.col("value").is_not_null().any())
    return float(asked["value"].to_numpy().mean())


def _rests_on(wins: pl.DataFrame, people: int) -> dict[str, Any]:
    items = wins["item"].n_unique() if "item" in wins.columns else len(wins)
    return {"items": items, "raters": people + 1, "judgments": len(wins)}


def _left_out(persons: pl.DataFrame, model: pl.DataFrame, trial: Trial, missing: Missing) -> dict[str, int]:
    """Judgments without a value by status, and answers of people that met no model or no other person."""
    unanswered = persons.filter(pl.col("value").is_null())
    if missing == "left_out":
        unanswered = pl.concat([unanswered, model.filter(pl.col("value").is_null())])
    left_out = dict(unanswered["status"].cast(pl.String).value_counts().iter_rows())
    if alone := persons["value"].count() - len(trial.wins):
        left_out["unmatched"] = alone
    return dict(sorted(left_out.items()))


def _alignment(part: Part, level: Level | None) -> Alignment:
    scale = part.scale()
    asked = level or (scale.level if scale is not None else None)
    if asked is None:
        raise InputError(
            "a plain table does not say its level of measurement",
            remedy="pass alignment='accuracy', 'rmse' or 'mae', or a level",
        )
    return "accuracy" if asked == "nominal" else "rmse"
