"""Packages that only some models need, imported when such a model is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vantage.raters.models.base import ModelError


def require(module: str, extra: str) -> Any:
    """The module of an optional package; where it is missing, a sentence says how to install it.

    >>> require("json", "embedded").dumps([1])
    '[1]'
    >>> require("nowhere", "local")
    Traceback (most recent call last):
        ...
    vantage.raters.models.base.ModelError: The package 'nowhere' is not installed; pip install vantage[local].
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise ModelError(f"The package '{module}' needs '{error.name}'; pip install {error.name}.") from None
        raise ModelError(f"The package '{module}' is not installed; pip install vantage[{extra}].") from None
    except (ImportError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ModelError(f"The package '{module}' cannot be loaded here ({reason}); install it again.") from None
