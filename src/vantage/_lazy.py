"""Names of a package that are loaded when they are first used, so that light verbs stay light.

What upper packages add to lower ones is registered here by its role (`provide`), so that a lower package asks for the
role (`provided`) and never names a module above its own: `corpus.report` is provided by `report`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules, resolve_name
from typing import Any

from vantage.errors import not_installed

_PROVIDED: dict[str, str] = {}


def provide(homes: Mapping[str, str]) -> None:
    """Registers what fills each role, as `MODULE:NAME`; it is loaded when the role is first asked for."""
    _PROVIDED.update(homes)


def provided(role: str) -> Any:
    """What fills a role, such as the report of a corpus."""
    return resolve_name(_PROVIDED[role])


def attach(
    package: str, homes: Mapping[str, str], *, faces: Sequence[str] = (), other_names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose public names live in the modules given.

    A name that is itself the last part of its home means that module. The error about any other name says which of
    `faces`, packages below this one, has it, or what answers to one of its `other_names`, here or in a face.
    """

    def getattr_(name: str) -> Any:
        if name not in homes:
            # A module of the package needs no hint: `from package import module` imports it when there is no attribute.
            below = any(one.name == name for one in iter_modules(sys.modules[package].__path__))
            have = [] if below or name.startswith("_") else [f"{package}.{face}" for face in faces]
            where = next((face for face in have if name in dir(import_module(face))), None)
            hint = f"; use {where}.{name}" if where else ""
            known = {package: other_names, **{f: getattr(import_module(f), "OTHER_NAMES", None) for f in have}}
            for face, others in known.items() if not where else ():
                if others and (here := others.get(name.replace("_", "-"))) is not None:
                    hint = f"; use {face}.{here.replace('-', '_', here.partition(' ')[0].count('-'))}"
            raise AttributeError(f"module '{package}' has no attribute '{name}'{hint}")
        try:
            module = import_module(homes[name])
        except ModuleNotFoundError as error:
            raise not_installed(error) from None
        value = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_, lambda: sorted({*homes, *vars(sys.modules[package])})
