"""No-skill raters from the same table: what is reached without reading, and how far a model goes towards a person.

A rater that never reads the texts can be close to people: where most answers are "no", always "no" is; where people
differ about every text, the middle of the scale is nearer to each of them than they are to each other. So each score of
a model stands between two others from the same judgments. The *floor* is the best no-skill rater: the most frequent
answer, people's answers at random, the median of their answers to the other items, one of two options always, and the
model's own answers dealt to other items. The *ceiling* is a person, scored against the other people. *Skill* is the
share of the way from one to the other: 0 without reading, 1 for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.measures.codes import dense, encode
from vantage.measures.intervals import over_units, student
from vantage.measures.presentation import Column
from vantage.measures.ratings import Floats, Ints
from vantage.measures.relations.correlations import CORRELATIONS
from vantage.measures.resampling import Resampling, item_codes
from vantage.measures.scoring.scores import Metric, Scores, shown
from vantage.scales import Scale

MODAL: Final = "the modal answer"
AT_RANDOM: Final = "people's answers at random"
MEDIAN: Final = "the median of the other items"
SHUFFLED: Final = "its own answers to other items"
ALWAYS: Final = "always {}"
NO_READER: Final = "any rater that does not read"
"""The floor of a correlation, which is 0 whoever it is."""
BELOW_FLOOR: Final = "people themselves are not shown to be better than {}, so that this score cannot show skill"

DRAWS: Final = 20
"""So many answers stand for a distribution, and so many deals for chance; fewer of a large table."""
LARGE: Final = 400_000
ERRORS: Final = ("mae", "rmse")
"""Metrics of which the lower one is better."""
CERTAIN: Final = 0.998
"""A score is above the floor where an interval of this confidence is: of a thousand raters that do not read and may be
tried, one would be taken for a reader."""
OWN: Final = (
    "floor",
    "floor_rater",
    "ceiling",
    "skill",
    "skill_low",
    "skill_high",
    "skill_over",
    "above_floor",
    "skill_reason",
)
"""The columns of skill, in the order in which results have them."""
SKILL_COLUMNS: Final = {
    "floor": Column("floor", digits=2),
    "floor_rater": Column("best rater that does not read"),
    "ceiling": Column("a person", digits=2),
    "skill": Column("share of the way", percent=True, digits=0, interval=("skill_low", "skill_high")),
    "above_floor": Column("above the floor"),
    "skill_reason": Column("why no share"),
}
SKILL_NOTES: Final = (
    "The floor is the best of several raters that do not read the items, computed from the same answers. The share of "
    "the way is 0 for that one and 100 % for a person.",
)
"""How every result shows them."""


def no_skill_raters(
    rows: pl.DataFrame, scale: Scale | None, *, ordered: bool, seed: int = 0
) -> dict[str, pl.DataFrame]:
    """The judgments of a model as no-skill raters would have given them, by name.

    `rows` have `item`, `question`, `rater`, `sample`, the answer as `value`, and the answer of people beside it as
    `gold`; questions are told apart. The rows of a rater that answers at random occur once for each draw.

    >>> rows = pl.DataFrame({"item": ["a", "b", "c"], "question": "", "condition": "", "rater": "m", "sample": 0,
    ...                      "value": [1.0, 0.0, 1.0], "gold": [1.0, 0.0, 0.0]})
    >>> {name: made["value"].to_list() for name, made in no_skill_raters(rows, None, ordered=False).items()
    ...  if len(made) == 3}
    {'the modal answer': [0.0, 0.0, 0.0], 'always 1': [1.0, 1.0, 1.0]}
    """
    rows = (
        rows.drop("position", strict=False)
        .filter(pl.col("gold").is_not_null())
        .sort("item", "question", "condition", "rater", "sample")
    )
    if rows.is_empty():
        return {}
    question = encode(rows, ["question"])
    item, _ = item_codes(rows["item"])
    gold = rows["gold"].to_numpy()
    codes, place = np.unique(gold, return_inverse=True)
    draws = max(2, min(DRAWS, LARGE // len(rows)))
    modal, median = np.empty(len(rows)), np.full(len(rows), np.nan)
    random = np.empty((draws, len(rows)))
    at = (np.arange(draws) + 0.5) / draws
    for number in range(int(question.max()) + 1):
        mine = question == number
        total = np.bincount(place[mine], minlength=len(codes))
        modal[mine] = codes[total.argmax()]
        random[:, mine] = codes[np.searchsorted(np.cumsum(total) / total.sum(), at)][:, None]
        if ordered:
            median[mine] = codes[_median_of_others(dense(item[mine])[0], place.reshape(-1)[mine], total)]
    answers = {MODAL: modal[None], AT_RANDOM: random}
    if ordered and rows["item"].n_unique() > 1:
        answers[MEDIAN] = median[None]
    options = codes if scale is None else np.array(scale.codes)
    for code in options if len(options) == 2 else ():
        if not (modal == code).all():
            answers[ALWAYS.format(shown(float(code), scale))] = np.full((1, len(rows)), code)
    answers[SHUFFLED] = dealt(rows, draws, seed)
    return {name: _with_answers(rows, values) for name, values in answers.items()}


def dealt(rows: pl.DataFrame, draws: int, seed: int, over: str = "item") -> Floats:
    """A rater's answers dealt to other items (or, `over` users, to other users) at random: one row of answers per draw.

    Answers stay with their question, rater and sample, so that how often each is given does not change. An answer that
    occurs several times, once beside each person, is dealt as one.
    """
    same = [name for name in ("question", "condition", "rater", "sample", "item", "user") if name in rows.columns]
    judgment, group = encode(rows, same), encode(rows, [name for name in same if name != over])
    first = np.unique(judgment, return_index=True)[1]
    values, group = rows["value"].fill_null(np.nan).to_numpy()[first], group[first]
    order = np.lexsort((first, group))  # in the order of the rows, so that names decide the draw and not hashes
    rng = np.random.default_rng(seed)
    made = np.empty((draws, len(rows)))
    for row in made:
        mixed = np.empty(len(values))
        mixed[order] = values[np.lexsort((rng.random(len(values))[np.argsort(order)], group))]
        row[:] = mixed[judgment]
    return made


def _median_of_others(item: Ints, place: Ints, total: Ints) -> Ints:
    """For each row the place of the lower median of all answers but those to its own item."""
    cells = np.bincount(item * len(total) + place, minlength=(int(item.max()) + 1) * len(total))
    left = np.cumsum(total - cells.reshape(-1, len(total)), axis=1)
    return np.asarray((2 * left >= left[:, -1:]).argmax(axis=1)[item])


def _with_answers(rows: pl.DataFrame, values: Floats) -> pl.DataFrame:
    many = rows if len(values) == 1 else pl.concat([rows] * len(values))
    return many.with_columns(pl.Series("value", values.ravel()).fill_nan(None))


Score: TypeAlias = Callable[[Floats], Floats]
"""From rows of item weights to a row of scores for each, one per metric."""


def with_skill(
    scores: Scores,
    people: Sequence[Scores],
    metrics: Sequence[Metric],
    how: Resampling,
    no_skill: Mapping[str, pl.DataFrame],
) -> list[dict[str, Any]]:
    """For each metric the floor, the ceiling and the skill of what was scored, with its interval over items.

    `people` are the scores of single persons against the others, on the same items at the same positions, `no_skill`
    what raters that do not read would have answered. The floor of a correlation is 0, whoever does not read.
    """
    rows = [dict.fromkeys(OWN) for _ in metrics]
    if not scores.items or not scores.persons:
        return rows
    items = scores.frame.select("item", "position").unique("item")
    persons = scores.frame["person"].unique().drop_nulls().sort().to_list() if len(scores.persons) > 1 else [None]
    summed = [n for n, m in enumerate(metrics) if m.name not in CORRELATIONS]
    for number in set(range(len(metrics))) - set(summed):
        floor = {NO_READER: lambda weight: np.zeros((len(weight), 1))}
        chosen = metrics[number : number + 1]
        ceiling = _mean_of(people, chosen)
        rows[number] = share_of_the_way(_scored(scores, chosen), floor, ceiling, scores.names, how)[0]
    if summed:
        chosen = [metrics[number] for number in summed]
        floors = {
            name: _scored(Scores.of(answers, scores.rules, persons, items), chosen)
            for name, answers in no_skill.items()
        }
        sign = np.array([-1.0 if m.name in ERRORS else 1.0 for m in chosen])
        ceiling = _mean_of(people, chosen)
        made_rows = share_of_the_way(_scored(scores, chosen), floors, ceiling, scores.names, how, sign=sign)
        for number, row in zip(summed, made_rows, strict=True):
            rows[number] = row
    return rows


def share_of_the_way(
    score: Score,
    floors: Mapping[str, Score],
    ceiling: Score | None,
    items: pl.Series,
    how: Resampling,
    *,
    sign: Floats | float = 1.0,
) -> list[dict[str, Any]]:
    """The columns of skill, from scores that are functions of item weights; `sign` is −1 where lower is better.

    The floor is the best of the no-skill raters in every resample anew, so that choosing it is part of the chance.
    `above_floor` says whether the score is above that of every no-skill rater, with 99.9 % certainty.

    >>> def points(*values: float) -> Score:
    ...     return lambda weight: (weight @ np.array(values) / weight.sum(axis=1))[:, None]
    >>> coin = {"a coin": points(0, 0, 1, 1)}
    >>> items, how = pl.Series([*"abcd"]), Resampling(ci="none")
    >>> row = share_of_the_way(points(1, 1, 1, 0), coin, points(1, 1, 1, 1), items, how)[0]
    >>> row["floor"], row["floor_rater"], row["ceiling"], row["skill"]
    (0.5, 'a coin', 1.0, 0.5)
    """

    def columns(weight: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = score(weight)
            without = np.stack([sign * floor(weight) for floor in floors.values()])
            best = np.where(np.isfinite(without), without, -np.inf).max(axis=0)
            beyond = sign * reached - np.where(np.isfinite(best), best, np.nan)
            room = sign * ceiling(weight) - best if ceiling is not None else np.full_like(beyond, np.nan)
            return np.hstack([beyond, room, np.where(room > 0, beyond / room, np.nan)])

    units, sources = len(items), how.item_sources
    drawn = units if sources is None else len(np.unique(sources.codes(items)))
    one = np.ones((1, units))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: floor(one)[0] for name, floor in floors.items()}
        tops = ceiling(one)[0] if ceiling is not None else np.full(len(score(one)[0]), np.nan)
    several = replace(how, ci="none" if how.ci == "none" else "items")
    estimates, bounds = columns(one)[0].reshape(3, -1).T, several.intervals(units, columns, items=items)
    count, rows = len(tops), []
    for number, (beyond, room, skill) in enumerate(estimates.tolist()):
        signed = np.broadcast_to(sign, count)[number]
        known = {name: float(signed * value[number]) for name, value in values.items() if np.isfinite(value[number])}
        best = max(known, key=lambda name: round(known[name], 12), default=None)  # the first of those that are equal
        row: dict[str, Any] = dict.fromkeys(OWN)
        if best is not None:
            row |= {"floor": float(signed * known[best]), "floor_rater": best}
        row["ceiling"] = float(tops[number]) if np.isfinite(tops[number]) else None
        above, least, ends = (bounds[number + block * count] for block in range(3))
        if above[0] is not None and np.isfinite(beyond):
            error = (beyond - above[0]) / student(drawn - 1, how.confidence)
            row["above_floor"] = bool(beyond > max(student(drawn - 1, CERTAIN) * error, 1e-9))
        if np.isfinite(room) and (room <= 1e-9 or (least[0] is not None and least[0] <= 0)):
            row["skill_reason"] = BELOW_FLOOR.format(best)
        elif np.isfinite(skill):
            over = None if ends[0] is None else over_units("items", sources, None)
            row |= {"skill": skill, "skill_low": ends[0], "skill_high": ends[1], "skill_over": over}
        rows.append(row)
    return rows


def _scored(scores: Scores, metrics: Sequence[Metric]) -> Score:
    return lambda weight: scores.values(weight, metrics)


def _mean_of(people: Sequence[Scores], metrics: Sequence[Metric]) -> Score | None:
    """The mean score of several people; null where nobody can be scored."""
    there = [one for one in people if len(one.frame)]

    def mean(weight: Floats) -> Floats:
        every = np.stack([one.values(weight, metrics) for one in there])
        known = np.isfinite(every)
        return np.asarray(np.where(known, every, 0.0).sum(axis=0) / known.sum(axis=0))

    return mean if there else None
