"""Which users are tested and which texts are set aside: one draw of our own, two of the library PersEval.

A draw looks at one row per ⟨text, user⟩ pair: `item`, `rater`, `stratum`, and `order`, the place of the text in its
corpus.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from vantage.errors import InputError

DENSE: Final = 0.9
"""Where the test users judged more than this share of the texts, only a part of these can be tested."""
DENSE_SHARE: Final = 0.3
_USERS: Final = 0.2
_ROWS: Final = 0.05
_TRAINING_TEXTS: Final = 0.7
"""PersEval's sizes: test users, adaptation rows, and for BREXIT the texts that only train."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is drawn."""

    test_users: float
    adaptation_items: int
    test_texts: float | None
    doubled: tuple[tuple[str, str], ...] = ()
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """Who is tested, on which texts they adapt, and which texts may be tested (all others, where null)."""

    test_users: frozenset[str]
    adaptation_texts: frozenset[str]
    test_texts: frozenset[str] | None = None


def balanced(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """Test users in proportion to their strata, each with the adaptation texts wanted, at most half of theirs.

    Users and texts are drawn from their sorted ids, so the order of the table does not matter.
    """
    rng = np.random.default_rng(seed)
    tested: list[str] = []
    strata = pairs.select("rater", "stratum").unique().sort("stratum", "rater").partition_by("stratum")
    for people in strata:
        ids = people["rater"].to_list()
        wanted = round(sizes.test_users * len(ids)) if len(strata) > 1 else max(1, round(sizes.test_users * len(ids)))
        tested += [ids[n] for n in rng.permutation(len(ids))[:wanted]]
    if not tested:
        raise InputError("no stratum has enough people for a test user", remedy="raise test_users, or drop stratify")
    of_users = pairs.filter(pl.col("rater").is_in(tested))
    every = pairs["item"].unique().sort().to_list()
    share = sizes.test_texts
    if share is None:
        share = DENSE_SHARE if of_users["item"].n_unique() > DENSE * len(every) else 1.0
    allowed = every if share == 1.0 else sorted(_drawn(rng, every, max(2, round(share * len(every)))))
    judged = dict(
        of_users.filter(pl.col("item").is_in(allowed)).group_by("rater").agg(pl.col("item").sort()).iter_rows()
    )
    chosen: set[str] = set()
    for n in rng.permutation(len(tested)):
        own = judged.get(tested[n], [])
        missing = min(sizes.adaptation_items, len(own) // 2) - sum(text in chosen for text in own)
        if missing > 0:
            chosen |= _drawn(rng, [text for text in own if text not in chosen], missing)
    return Draw(frozenset(tested), frozenset(chosen), None if share == 1.0 else frozenset(allowed))


def perseval(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """As PersEval draws for EPIC, MHS, DICES and MD: 5 % of the test users' rows, then every row on these texts.

    It draws from users and from rows sorted by their ids, in the type that these have in the release, and seeds
    Python's generator before each. For MD it counts the texts as they come, instead of taking their ids (`counted`).
    """
    users = in_own_type(pairs["rater"].unique().to_list())
    generator = random.Random(seed)  # noqa: S311 - the library's generator, for the same draws
    tested = set(generator.sample(users, int(_USERS * len(users))))
    if not tested:
        raise InputError(f"a fifth of {len(users)} people is nobody", remedy="use the method balanced")
    again = pl.DataFrame(list(sizes.doubled), schema={"item": pl.String, "rater": pl.String}, orient="row")
    drawn_from = pl.concat([pairs, again.join(pairs, on=["item", "rater"]).select(pairs.columns)])
    of_tested = drawn_from.filter(pl.col("rater").is_in(list(tested)))
    rows = of_tested.sort("order")["item"].to_list() if sizes.counted else in_own_type(of_tested["item"].to_list())
    generator = random.Random(seed)  # noqa: S311
    drawn = generator.sample(range(len(rows)), int(_ROWS * len(rows)))
    return Draw(frozenset(tested), frozenset(rows[n] for n in drawn))


def perseval_dense(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """As PersEval draws for BREXIT, where everyone judged everything: users by group, 30 % of texts tested."""
    from sklearn.model_selection import train_test_split

    del sizes
    people = pairs.select("rater", "stratum").unique().sort("rater")
    if people["stratum"].n_unique() < 2:
        raise InputError(
            "this draw takes users from each group alike", remedy="pass stratify, the trait with the groups"
        )
    _, tested = train_test_split(
        people["rater"].to_list(), test_size=_USERS, random_state=seed, stratify=people["stratum"].to_list()
    )
    texts = sorted(pairs["item"].unique())
    generator = random.Random(seed)  # noqa: S311 - as above
    training = set(generator.sample(texts, int(_TRAINING_TEXTS * len(texts))))
    others = [text for text in texts if text not in training]
    adapting = generator.sample(others, int(_ROWS * len(others)))
    return Draw(frozenset(tested), frozenset(adapting), frozenset(others))


def in_own_type(ids: list[str]) -> list[str]:
    """Ids sorted as the release has them: numbers by size, anything else by letters.

    A part in front that a reader put there, the same for all and closed by a hyphen, does not count.

    >>> in_own_type(["10", "9"]), in_own_type(["350-10", "350-9"]), in_own_type(["Ann10", "Ann9"])
    (['9', '10'], ['350-9', '350-10'], ['Ann10', 'Ann9'])
    """
    parted = [name.rpartition("-") for name in ids]
    if len({part[0] for part in parted}) == 1 and all(part[2].isdecimal() for part in parted):
        return sorted(ids, key=lambda name: int(name.rpartition("-")[2]))
    return sorted(ids)


def _drawn(rng: np.random.Generator, texts: list[str], wanted: int) -> set[str]:
    return {texts[n] for n in rng.permutation(len(texts))[:wanted]}
