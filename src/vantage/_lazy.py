"""Names of a package that are loaded when they are first used, so that light verbs stay light.

What upper packages add to lower ones is registered here by its role (`provide`), so that a lower package asks for the
role (`provided`) and never names a module above its own: `corpus.report` is provided by `report`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

_PROVIDED: dict[str, str] = {}


def provide(homes: Mapping[str, str]) -> None:
    """Registers what fills each role, as `MODULE:NAME`; it is loaded when the role is first asked for."""
    _PROVIDED.update(homes)


def provided(role: str) -> Any:
    """What fills a role, such as the report of a corpus."""
    return resolve_name(_PROVIDED[role])


def attach(
    package: str, homes: Mapping[str, str], *, moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose public names live in the modules given.

    A name that is itself the last part of its home means that module. Names in `moved` are found where they are
    now (`MODULE`, or `MODULE:NAME` where they have another name), with a warning.
    """
    old = moved or {}

    def getattr_(name: str) -> Any:
        if name in old:
            home, _, new = old[name].partition(":")
            warnings.warn(f"{package}.{name} is now {home}.{new or name}", DeprecationWarning, stacklevel=2)
            return getattr(import_module(home), new or name)
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = import_module(homes[name])
        value = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_, lambda: sorted({*homes, *vars(sys.modules[package])})
