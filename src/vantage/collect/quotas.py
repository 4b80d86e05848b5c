"""Quotas: how many participants with each answer about themselves may take part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select

from vantage.collect.tables import arms, quota_places

Quotas = Mapping[str, Mapping[str, int]]


def take(connection: Connection, quotas: Quotas, participant: int, traits: Mapping[str, Any]) -> bool:
    """Gives a participant a place in every quota that concerns them; false where one is full.

    The arms are locked first, as for every assignment, so that no quota is exceeded.
    """
    connection.execute(select(arms.c.arm).order_by(arms.c.arm).with_for_update()).all()
    own = select(quota_places.c.trait).where(quota_places.c.participant == participant)
    held = set(connection.execute(own).scalars())
    for trait, limits in quotas.items():
        value = traits.get(trait)
        if trait in held or not isinstance(value, str) or value not in limits:
            continue
        taken = select(func.count()).where(quota_places.c.trait == trait, quota_places.c.value == value)
        if connection.execute(taken).scalar_one() >= limits[value]:
            give_back(connection, [participant])
            return False
        connection.execute(quota_places.insert(), {"participant": participant, "trait": trait, "value": value})
    return True


def give_back(connection: Connection, people: Sequence[int]) -> None:
    """Frees the places of participants who left."""
    connection.execute(delete(quota_places).where(quota_places.c.participant.in_(people)))
