"""What is known of users: who they are where the model met them, the values of their traits, and their offsets.

An offset says how labels that a user gave beforehand move what is predicted for this user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.perspective.splits import known_trait
from vantage.raters.trained.base import Floats

Profile: TypeAlias = tuple[str | None, ...]
"""A user's trait values, in the order of the traits; null where unknown."""
Ids: TypeAlias = NDArray[np.intp]

UNKNOWN: Final = ("", "UNK", "unknown")
"""How corpora write that a trait is not known."""
MANY: Final = 8
"""A trait of more different numbers than this, such as age, is learned in quarters of the training users."""


@dataclass(frozen=True)
class People:
    """The users a model learned from, and how any user is told to it.

    >>> people = People.of({"ann": ("old",), "bob": ("young",)}, ["age"])
    >>> people.ids(["ann", "eve"], {"ann": ("old",), "eve": ("young",)}).tolist()
    [[1, 4], [0, 5]]
    """

    traits: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()
    """Of the users, with numbers in quarters."""
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Where the quarters of a trait of many numbers end."""

    @classmethod
    def of(cls, profiles: Mapping[str, Profile], traits: Sequence[str]) -> People:
        """From the profiles of the users that are learned from."""
        edges = {}
        for place, trait in enumerate(traits):
            numbers = _numbers({profile[place] for profile in profiles.values()} - {None})
            if len(numbers) > MANY:
                given = [float(p[place]) for p in profiles.values() if p[place] is not None]  # type: ignore[arg-type]
                edges[trait] = tuple(np.unique(np.quantile(given, (0.25, 0.5, 0.75))).tolist())
        bare = cls(tuple(traits), edges=edges)
        users = tuple(sorted(profiles))
        return cls(bare.traits, users, tuple(bare.grouped(profiles[user]) for user in users), edges)

    @cached_property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """Per trait the values that the users have."""
        columns = zip(*self.profiles, strict=True) if self.profiles and self.traits else ((),) * len(self.traits)
        return tuple(tuple(sorted({value for value in column if value is not None})) for column in columns)

    @cached_property
    def _user(self) -> dict[str, int]:
        return {user: n for n, user in enumerate(self.users, 1)}

    @cached_property
    def _value(self) -> list[dict[str, int]]:
        places, start = [], self.unknown + 1
        for values in self.values:
            places.append({value: start + n for n, value in enumerate(values)})
            start += len(values)
        return places

    @property
    def unknown(self) -> int:
        """The id of a trait value that nobody in training had."""
        return len(self.users) + 1

    @property
    def size(self) -> int:
        """How many ids there are, nobody's (0) included."""
        return self.unknown + 1 + sum(map(len, self.values))

    def knows(self, user: str) -> bool:
        """Whether the user was met in training."""
        return user in self._user

    def grouped(self, profile: Profile) -> Profile:
        """The profile with numbers in quarters."""
        return tuple(_quarter(v, self.edges.get(t)) for t, v in zip(self.traits, profile, strict=True))

    def ids(self, users: Sequence[str], profiles: Mapping[str, Profile]) -> Ids:
        """One row per user: the user's id (0 for a stranger), then the id of each trait value."""
        rows = {
            user: [self._user.get(user, 0), *self._values_of(self.grouped(profiles[user]))]
            for user in dict.fromkeys(users)
        }
        return np.array([rows[user] for user in users], dtype=np.intp).reshape(len(users), 1 + len(self.traits))

    def alike(self, profile: Profile) -> NDArray[np.bool_]:
        """The users who share most trait values with a profile; all of them where none is shared."""
        values = np.array(self._values_of(self.grouped(profile)), dtype=np.intp)
        shared = ((self._known_values == values) & (values != self.unknown)).sum(axis=1)
        return np.asarray(shared == shared.max(initial=0))

    @cached_property
    def _known_values(self) -> Ids:
        rows = [self._values_of(profile) for profile in self.profiles]
        return np.array(rows, dtype=np.intp).reshape(len(self.users), len(self.traits))

    def _values_of(self, grouped: Profile) -> list[int]:
        return [known.get(value or "", self.unknown) for known, value in zip(self._value, grouped, strict=True)]

    def described(self) -> dict[str, Any]:
        """As plain data."""
        edges = {trait: list(ends) for trait, ends in self.edges.items()}
        return {"traits": self.traits, "users": self.users, "profiles": self.profiles, "edges": edges}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> People:
        """From what `described` gave."""
        edges = {trait: tuple(ends) for trait, ends in data["edges"].items()}
        return cls(tuple(data["traits"]), tuple(data["users"]), tuple(map(tuple, data["profiles"])), edges)


def profiles_of(corpus: Corpus, users: Iterable[str], traits: Sequence[str]) -> dict[str, Profile]:
    """The trait values of users as a corpus tells them; users and traits it does not have are refused."""
    for trait in traits:
        known_trait(corpus, trait)
    chosen = corpus.raters.select("rater", *(_as_text(corpus.raters, trait) for trait in traits))
    known = {row[0]: tuple(None if v in UNKNOWN else v for v in row[1:]) for row in chosen.iter_rows()}
    asked = dict.fromkeys(users)
    if strangers := [user for user in asked if user not in known]:
        some = ", ".join(f"'{user}'" for user in strangers[:3])
        raise InputError(
            f"{len(strangers)} users are not in the corpus, such as {some}", remedy="check the ids of the pairs"
        )
    return {user: known[user] for user in asked}


def _as_text(raters: pl.DataFrame, trait: str) -> pl.Expr:
    column = pl.col(trait)
    if isinstance(raters.schema[trait], pl.List):
        column = column.list.eval(pl.element().cast(pl.String)).list.sort().list.join(" + ")
    return column.cast(pl.String)


def _numbers(values: set[str | None]) -> set[float]:
    try:
        numbers = {float(value or "") for value in values}
    except ValueError:
        return set()
    return numbers if all(map(np.isfinite, numbers)) else set()


def _quarter(value: str | None, edges: tuple[float, ...] | None) -> str | None:
    if value is None or edges is None:
        return value
    try:
        return f"quarter {int(np.searchsorted(edges, float(value))) + 1}"
    except ValueError:
        return None


SPREAD: Final = 1.0
"""Standard deviation of the normal prior of an offset, in logits: few labels move a user little."""


def fit_offsets(
    shares: Floats, labels: NDArray[np.intp], users: Sequence[str], weights: Sequence[float]
) -> dict[str, list[float]]:
    """Per user an offset of each option's logit, most probable given the user's labels and a normal prior.

    `weights` are those of the options in training, so that a model that was kept from overlooking rare labels is not
    turned back by its users.

    >>> even = np.full((4, 2), 0.5)
    >>> result = fit_offsets(even, np.array([1, 1, 1, 1]), ["ann"] * 4, [1.0, 1.0])["ann"]
    >>> round(result[1], 2), round(sum(result), 2)
    (0.74, 0.0)
    """
    logs, weight = np.log(np.maximum(shares, 1e-9)), np.asarray(weights)
    names = np.asarray(users)
    offsets = {}
    for user in dict.fromkeys(users):
        mine = names == user
        offsets[user] = _offset(logs[mine], labels[mine], weight[labels[mine]])
    return offsets


def moved(shares: Floats, users: Sequence[str], offsets: dict[str, list[float]]) -> Floats:
    """Shares after the offsets of their users."""
    if not offsets:
        return shares
    none = [0.0] * shares.shape[1]
    odds = shares * np.exp(np.array([offsets.get(user, none) for user in users]))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _offset(logs: Floats, labels: NDArray[np.intp], weight: Floats) -> list[float]:
    chosen = np.eye(logs.shape[1])[labels]

    def cost(offset: Floats) -> tuple[float, Floats]:
        out = logs + offset
        out = out - out.max(axis=1, keepdims=True)
        norm = np.log(np.exp(out).sum(axis=1, keepdims=True))
        loss = -(weight * ((out - norm) * chosen).sum(axis=1)).sum() + (offset**2).sum() / (2 * SPREAD**2)
        slope = (weight[:, None] * (np.exp(out - norm) - chosen)).sum(axis=0) + offset / SPREAD**2
        return float(loss), slope

    best = minimize(cost, np.zeros(logs.shape[1]), jac=True, method="L-BFGS-B").x
    return [float(value) for value in best]
