"""Tokens and secrets: from the environment or the keyring, never from files, and never shown."""

from __future__ import annotations

import os
from typing import Final

from vantage.errors import InputError

SERVICE: Final = "vantage"
"""The name under which the keyring holds tokens."""
TOKEN: Final = "PROLIFIC_TOKEN"  # noqa: S105 - its name
WEBHOOK_SECRET: Final = "PROLIFIC_WEBHOOK_SECRET"  # noqa: S105 - its name
ADDRESS: Final = "PROLIFIC_URL"
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


def prolific_token() -> str:
    """The token of Prolific's API."""
    token = secret(TOKEN)
    if not token:
        raise InputError(
            "There is no token for Prolific",
            remedy=f"set the variable {TOKEN}, or store it with: keyring set {SERVICE} {TOKEN}",
        )
    return token
