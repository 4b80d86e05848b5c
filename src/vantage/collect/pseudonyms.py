"""Keyed pseudonyms: the same person has the same name in every export, and only the key's holder can tell who.

The key is created with the database and stored apart from it (see `private`). Without the key a platform id cannot be
found by trying all of them, as it could with a plain hash (HMAC, Krawczyk, Bellare and Canetti 1997).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

LENGTH: Final = 12


def new_secret() -> str:
    """A fresh key, as text."""
    return secrets.token_hex(32)


def derived(secret: str, purpose: str) -> bytes:
    """A key for one purpose; keys for different purposes are independent."""
    return hmac.digest(bytes.fromhex(secret), purpose.encode(), "sha256")


def pseudonym(secret: str, source: str, identity: str) -> str:
    """The name of a participant in exports.

    >>> pseudonym("00" * 32, "prolific", "5a9d64f5f6dfdd0001eaa73d")
    'p-lplcgi7wfg7h'
    """
    digest = hmac.digest(derived(secret, "pseudonym"), f"{source}:{identity}".encode(), "sha256")
    return f"p-{base64.b32encode(digest).decode().lower()[:LENGTH]}"


def code_of(secret: str, rater: str) -> str:
    """A participant's completion code, in letters that are not easily confused.

    >>> code_of("00" * 32, "p-abc")
    'VAQD26U6'
    """
    digest = hmac.digest(derived(secret, "completion"), rater.encode(), "sha256")
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    return "".join(letters[byte % len(letters)] for byte in digest[:8])


def password_hash(password: str) -> str:
    """A password as it is stored: scrypt (Percival 2009) with its own salt."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{salt.hex()}:{_scrypt(password, salt).hex()}"


def password_matches(password: str, stored: str) -> bool:
    """Whether a password matches the stored hash, compared in constant time."""
    kind, _, rest = stored.partition(":")
    salt, _, wanted = rest.partition(":")
    if kind != "scrypt":
        return False
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(wanted))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, maxmem=2**26)
