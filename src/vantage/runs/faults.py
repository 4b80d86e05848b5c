"""What can go wrong with a store, told in one sentence."""

from __future__ import annotations

from pathlib import Path

from vantage.errors import InputError


class StoreError(InputError):
    """A run store that cannot be read or written; what was acknowledged before is still in it."""


def store_error(error: Exception, path: Path) -> StoreError:
    """The sentence for what SQLite or the system reports."""
    told = str(error).lower()
    if "full" in told or "disk i/o" in told or "no space" in told or "too large" in told:
        return StoreError(
            f"the store cannot grow ({error})",
            file=path,
            remedy="free some space and run the same command again; every reply acknowledged so far is kept",
        )
    if "readonly" in told or "read-only" in told or "unable to open" in told or "permission" in told:
        return StoreError(
            f"the store cannot be written ({error})",
            file=path,
            remedy="name a place that can be written with --store",
        )
    if "locked" in told or "busy" in told:
        return StoreError("another process holds the store", file=path, remedy="wait for it, or end it, and run again")
    if "malformed" in told or "not a database" in told or "corrupt" in told:
        return StoreError(
            f"the store is damaged ({error})",
            file=path,
            remedy=f"save what can be read with: vantage runs recover {path}",
        )
    return StoreError(f"the store cannot be used ({error})", file=path)
