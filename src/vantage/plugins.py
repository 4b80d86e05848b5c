"""Plugins: measures, readers, models, studies, instruments and charts that other packages add.

A package names them as entry points of the groups `vantage.measures`, `vantage.readers`, `vantage.models`,
`vantage.studies`, `vantage.instruments` and `vantage.charts`, and once it is installed they are used by name like those
that are built in. Their names are known without importing the package; it is imported when one of them is used or
described. A name that is built in always means the built-in thing. May import `errors` only; each registry holds one
`Plugins` that says which names are taken and what an entry point must refer to.

>>> charts: Plugins[object] = Plugins("charts", "chart", lambda: ["points"], lambda name, plugin: plugin)
>>> charts.find("pints")
Traceback (most recent call last):
    ...
vantage.errors.InputError: there is no chart 'pints'; did you mean 'points'?
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vantage.errors import InputError, nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class PluginWarning(UserWarning):
    """A plugin that cannot be used, in one sentence; everything else works without it."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of an installed package."""

    point: EntryPoint

    @property
    def name(self) -> str:
        """The name under which the thing is used."""
        return self.point.name

    @property
    def package(self) -> str:
        """The package and its version."""
        package = self.point.dist
        return f"{package.name} {package.version}" if package else self.point.module

    def error(self, problem: str, remedy: str) -> InputError:
        """What is wrong with it, naming the package and the entry point."""
        place = f"entry point '{self.name}' in {self.point.group}"
        return InputError(f"{place} {problem}", file=self.package, remedy=remedy)


@cache
def installed(kind: str) -> tuple[Plugin, ...]:
    """The plugins of a kind, such as `measures`, by name; nothing of theirs is imported."""
    from importlib.metadata import entry_points

    plugins = map(Plugin, entry_points(group=f"vantage.{kind}"))
    return tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)))


class Plugins(Generic[T]):
    """The plugins that extend one registry.

    Args:
        kind: The last part of the group's name, such as `measures`.
        what: One of them in a word, such as `measure`.
        taken: Gives the names that are built in.
        accept: From the name of an entry point and the object it refers to, to what the registry holds; raises
            `TypeError` or `ValueError` with the rest of a sentence ("is not a Reader") where the object does not fit.
    """

    def __init__(
        self, kind: str, what: str, taken: Callable[[], Collection[str]], accept: Callable[[str, Any], T]
    ) -> None:
        self.kind, self.what, self._taken, self._accept = kind, what, taken, accept

    def names(self) -> list[str]:
        """The names that plugins add."""
        taken = self._taken()
        return [name for name in dict.fromkeys(plugin.name for plugin in installed(self.kind)) if name not in taken]

    def find(self, name: str) -> T:
        """What a plugin adds under a name that is not built in."""
        for plugin in installed(self.kind):
            if plugin.name == name:
                return self._loaded(plugin)
        known = [*self._taken(), *self.names()]
        raise InputError(f"there is no {self.what} '{name}'", remedy=nearest(name, known))

    def working(self) -> dict[str, T]:
        """Everything that plugins add, by name; each plugin that cannot be used is a warning."""
        usable: dict[str, T] = {}
        for plugin, loaded in self.tried():
            if isinstance(loaded, InputError):
                warnings.warn(str(loaded), PluginWarning, stacklevel=2)
            else:
                usable[plugin.name] = loaded
        return usable

    def tried(self) -> Iterator[tuple[Plugin, T | InputError]]:
        """Each plugin with what it adds, or with why it cannot be used."""
        for plugin in installed(self.kind):
            try:
                yield plugin, self._loaded(plugin)
            except InputError as error:
                yield plugin, error

    def _loaded(self, plugin: Plugin) -> T:
        if plugin.name in self._taken():
            raise plugin.error(f"has the name of a built-in {self.what}, which is used instead", "rename it")
        rivals = [one.package for one in installed(self.kind) if one.name == plugin.name and one != plugin]
        if rivals:
            raise plugin.error(f"has a name that {rivals[0]} uses too", "uninstall one of the two packages")
        try:
            loaded = plugin.point.load()
        except (Exception, SystemExit) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise plugin.error(f"cannot be imported ({reason})", "update or uninstall the package") from error
        try:
            return self._accept(plugin.name, loaded)
        except (TypeError, ValueError) as error:
            raise plugin.error(str(error).rstrip("."), "update or uninstall the package") from error
