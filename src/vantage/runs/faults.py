"""What can go wrong with a store, told in one sentence."""

from __future__ import annotations

from pathlib import Path

from vantage.errors import InputError


class StoreError(InputError):
    """A run store that cannot be read or written; what was acknowledged before is still in it."""


def store_error(error: Exception, path: Path) -> StoreError:
    """The sentence for what SQLite or the system reports."""
    message = str(error).lower()
    if "full" in message or "disk i/o" in message or "no space" in message or "too large" in message:
        return StoreError(
            f"the store cannot grow ({error})",
            file=path,
            remedy="free some space and run the same command again; every reply acknowledged so far is kept",
        )
    if "readonly" in message or "read-only" in message or "unable to open" in message or "permission" in message:
        return StoreError(
            f"the store cannot be written ({error})",
            file=path,
            remedy="name a place that can be written with --store",
        )
    if "locked" in message or "busy" in message:
        return StoreError("another process holds the store", file=path, remedy="wait for it, or end it, and run again")
    if "malformed" in message or "not a database" in message or "corrupt" in message:
        return StoreError(
            f"the store is damaged ({error})",
            file=path,
            remedy=f"save what can be read with: vantage runs recover {path}",
        )
    return StoreError(f"the store cannot be used ({error})", file=path)
