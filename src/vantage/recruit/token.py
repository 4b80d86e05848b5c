"""Tokens and secrets: from the environment or the keyring, never from files, and never shown."""

from __future__ import annotations

import os
from typing import Final

from vantage.errors import InputError
from vantage.recruit.prolific import ADDRESS, ProlificClient

SERVICE: Final = "vantage"
"""The name under which the keyring holds tokens."""
TOKEN: Final = "PROLIFIC_TOKEN"  # noqa: S105 - its name
WEBHOOK_SECRET: Final = "PROLIFIC_WEBHOOK_SECRET"  # noqa: S105 - its name
ADDRESS_VARIABLE: Final = "PROLIFIC_URL"
"""Another address of the API, for tests."""


def secret(name: str) -> str | None:
    """A secret of this name in the environment or, where the package keyring is installed, in the keyring."""
    if given := os.environ.get(name, "").strip():
        return given
    try:
        import keyring
    except ImportError:
        return None
    stored: str | None = keyring.get_password(SERVICE, name)
    return stored


def prolific_client() -> ProlificClient:
    """A client of Prolific's API with the token of the environment or the keyring."""
    token = secret(TOKEN)
    if not token:
        raise InputError(
            "There is no token for Prolific",
            remedy=f"set the variable {TOKEN}, or store it with: keyring set {SERVICE} {TOKEN}",
        )
    return ProlificClient(token, os.environ.get(ADDRESS_VARIABLE, ADDRESS))
