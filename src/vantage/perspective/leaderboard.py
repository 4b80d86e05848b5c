"""Systems that predicted the same tasks, by skill, with places that no coin can take."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, TypeAlias

import polars as pl

from vantage.measures.multiplicity import adjusted
from vantage.perspective.losses import LEAST, Divisor
from vantage.perspective.measured import Measured, concluded
from vantage.perspective.scoring import TaskAnswers, own_measures

ALIKE: Final = 0.05
"""Systems whose difference has a larger p value share a place."""
UNREAD: Final = "(the best rater that reads no text)"
"""The row below which no system is shown to have skill."""
NOT_BETTER: Final = "not shown to be better than a rater that reads no text"
Systems: TypeAlias = Mapping[str, Mapping[str, TaskAnswers]]
"""What each system predicted for each task."""


def _skills(systems: Systems, evaluation: str, divisor: Divisor) -> dict[str, dict[str, Measured]]:
    """Each system's skill in each task that all of them predicted and whose ceiling is known."""
    first = next(iter(systems.values()))
    skills: dict[str, dict[str, Measured]] = {name: {} for name in systems}
    for task in [task for task in first if all(task in one for one in systems.values())]:
        measure = own_measures(first[task].parts[0].scale)[evaluation == "perspectivist"]
        floor, ceiling = first[task].floor(measure, divisor)[0], first[task].ceiling(measure, divisor)
        if ceiling is not None and floor - ceiling > LEAST:
            for name, one in systems.items():
                skills[name][task] = one[task].measured(measure, divisor).in_skill(floor, ceiling)
    return skills


def leaderboard(systems: Systems, evaluation: str, divisor: Divisor = "points") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Systems by skill, for each task that all of them predicted and over these together; and each pair of systems.

    `place` is one more than the number of systems that are shown to be better: differences on the same texts and
    people, corrected after Holm (1979), so that systems that cannot be told apart share a place. A system that is not
    shown to be better than the best rater that reads no text has none and stands below that rater, which has a row of
    its own. Floors and ceilings are the same for all.
    """
    skills = _skills(systems, evaluation, divisor)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    common = list(next(iter(skills.values())))
    for task, used in [*((task, [task]) for task in common), *([("all", common)] if common[1:] else [])]:
        key = {"evaluation": evaluation, "task": task}
        reached = {name: concluded([one[t] for t in used]) for name, one in skills.items()}
        names = sorted(reached, key=lambda name: -(reached[name]["estimate"] or 0.0))
        able = [n for n in names if (reached[n]["estimate"] or 0.0) > 0 and (reached[n]["p"] or 0.0) < ALIKE]
        pairs = list(combinations(names, 2))
        apart = [concluded([skills[a][t].minus(skills[b][t]) for t in used]) for a, b in pairs]
        better = set()
        for (one, two), row, p in zip(pairs, apart, adjusted([row["p"] for row in apart], "holm"), strict=True):
            ends = {"difference": row["estimate"], "low": row["low"], "high": row["high"], "p": row["p"], "p_holm": p}
            differences.append({**key, "first": one, "second": two, **ends})
            better |= {(one, two)} if p is not None and p < ALIKE else set()
        for name in able:
            place = 1 + sum((other, name) in better for other in able)
            rows.append({**key, "place": place, "system": name, **_shown(reached[name])})
        rows.append({**key, "system": UNREAD, "skill": 0.0, "reason": "skill is measured from it"})
        others = [name for name in names if name not in able]
        rows += [{**key, "system": name, **_shown(reached[name]), "reason": NOT_BETTER} for name in others]
    text, number = pl.String(), pl.Float64()
    ends_of = {"low": number, "high": number, "p": number}
    key_of = {"evaluation": text, "task": text}
    board = {**key_of, "place": pl.Int64(), "system": text, "skill": number, **ends_of, "reason": text}
    pairs_of = {**key_of, "first": text, "second": text, "difference": number, **ends_of, "p_holm": number}
    return pl.DataFrame(rows, schema=board), pl.DataFrame(differences, schema=pairs_of)


def _shown(reached: Mapping[str, float | None]) -> dict[str, float | None]:
    return {"skill": reached["estimate"], **{end: reached[end] for end in ("low", "high", "p")}}
