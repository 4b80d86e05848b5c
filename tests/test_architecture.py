"""A module imports only from packages to the left of its own in `ORDER`, and nothing imports in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import vantage
from tests.trees import SOURCE, nodes, one_worker, parsed, statements
from vantage._lazy import provided

pytestmark = one_worker
ORDER = [
    "_version",
    "errors",
    "_lazy",
    "plugins",
    "notebook",
    "scales",
    "documents",
    "instruments",
    "presentations",
    "corpora",
    "measures",
    "adaptive",
    "planning",
    "perspective",
    "raters",
    "interop",
    "runs",
    "collect",
    "recruit",
    "report",
    "robust",
    "view",
    "studies",
    "context",
    "scaffold",
    "cli",
    "__main__",
]
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


def package(path: Path) -> str:
    """The top-level package or module that a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@cache
def imported(path: Path) -> set[str]:
    """The top-level packages of Vantage that a module imports from."""
    packages: set[str] = set()
    for node in statements(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "vantage":
            parts = node.module.split(".")
            packages |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            packages |= {n.name.split(".")[1] for n in node.names if n.name.startswith("vantage.")}
    return packages & set(ORDER)


def test_a_module_imports_only_from_the_left() -> None:
    assert {package(path) for path in MODULES} - {*ORDER} == set(), "add the new package to ORDER"
    right = {
        (str(path.relative_to(SOURCE)), other)
        for path in MODULES
        for other in imported(path)
        if ORDER.index(other) > ORDER.index(package(path))
    }
    assert right == set()


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that name a module of Vantage, and their lines; also the start of one put together."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            home = node.value.partition(":")[0]
            if re.fullmatch(r"vantage(\.\w+)+\.?", home):
                yield node.lineno, home


def test_no_module_names_one_to_its_right_in_a_string() -> None:
    """What is imported by a string is imported all the same; roles (`vantage._lazy.provided`) are for that."""
    right = {
        f"{path.relative_to(SOURCE)}:{line}: {home}"
        for path in MODULES
        for line, home in strings(path)
        if (other := home.split(".")[1]) in ORDER
        and ORDER.index(other) > ORDER.index(package(path))
        and _is_module(home)
    }
    assert right == set()


def _is_module(home: str) -> bool:
    """Whether a dotted name is a module or a name in one, and not a group of entry points such as vantage.studies."""
    parts = home.rstrip(".").split(".")[1:]
    return len(parts) > 1 or (SOURCE / parts[0]).with_suffix(".py").is_file()


def test_data_files_name_no_module_of_another_package() -> None:
    for path in SOURCE.rglob("*.toml"):
        named = re.findall(r'"vantage\.(\w+)[.:]', path.read_text("utf-8"))
        assert {one for one in named if one in ORDER and ORDER.index(one) > ORDER.index(package(path))} == set()


def test_every_role_that_is_asked_for_is_provided() -> None:
    asked = {
        str(node.args[0].value)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "provided"
        and isinstance(node.args[0], ast.Constant)
    }
    assert asked == {"corpus.report", "corpus.view", "corpus.plot", "readers.lewidi"}
    for role in (*asked, "reader.inspect", "writer.inspect", "writer.lm-eval"):
        assert callable(provided(role))


PAST_FACES = 634
"""How many imports reach past another package's `__init__` into its modules. It may only fall."""


def test_no_more_imports_reach_past_a_face_than_before() -> None:
    past = [
        (str(path.relative_to(SOURCE)), node.module)
        for path in MODULES
        for node in statements(parsed(path))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("vantage.")
        and node.module.count(".") > 1
        and node.module.split(".")[1] != package(path)
    ]
    assert len(past) <= PAST_FACES, "import from the package itself, whose __init__ is its face"


def test_every_public_name_exists_and_is_listed() -> None:
    for name in vantage.__all__:
        assert getattr(vantage, name) is not None
    assert set(vantage.__all__) <= set(dir(vantage))


def test_every_folder_has_a_docstring() -> None:
    folders = {path.parent for path in MODULES} - {SOURCE}
    assert [one for one in folders if len(ast.get_docstring(parsed(one / "__init__.py")) or "") <= 40] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Also not for types only, and not inside functions: what needs each other belongs together."""
    names = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__") for path in MODULES
    }
    waiting = {name: _imports(name, names) for name in names}
    # Modules that import nothing that is left go first, until none is left or all of them wait for each other.
    while free := {name for name, needed in waiting.items() if not needed & set(waiting)}:
        waiting = {name: needed for name, needed in waiting.items() if name not in free}
    assert waiting == {}


def _imports(name: str, names: set[str]) -> set[str]:
    path = SOURCE.parent / Path(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    body = parsed(file).body
    if path.is_dir():
        # Names that a folder re-exports are loaded when they are used.
        body = [node for node in body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    found = set()
    for node in statements(ast.Module(body, [])):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {full if (full := f"{node.module}.{one.name}") in names else node.module for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return (found & names) - {name}


def test_a_class_name_has_one_meaning() -> None:
    """A name that two modules define makes readers look up which of the two is meant."""
    where: dict[str, list[str]] = {}
    for path in MODULES:
        for node in statements(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_names_say_what_they_hold() -> None:
    """Neither functions, attributes nor locals are called `told` or `found`: told what, and found where?"""
    vague = {"told", "found", "_told", "_found"}
    for path in MODULES:
        for node in nodes(path):
            name = getattr(node, "name", None) or getattr(node, "arg", None) or getattr(node, "attr", None)
            stored = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
            assert not {name, stored} & vague, f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', '?')}"
