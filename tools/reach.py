"""Which slow tests a change can reach: `make test SLOW=yes SINCE=COMMIT` runs these, and all fast ones.

A test file reaches what it imports, what these modules import, and what they look up by name: lazily loaded names of a
package, modules written as strings, verbs, studies, measures and formats, and the data files of a folder. A change to
the core (`CORE`) reaches everything, and so does a file about which nothing is known. Without git, without the commit
or with any other doubt everything is run.

    python -m tools.reach COMMIT            # the test files
    python -m tools.reach COMMIT --why      # each with a changed file that it reaches
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = {"vantage": "src/vantage", "tests": "tests", "tools": "tools", "benchmarks": "benchmarks"}
CORE: Final = re.compile(
    r"src/(conftest\.py|vantage/([^/]+\.py|(instruments|corpora|notebook)/.*|measures/[^/]+))|tests/(conftest|often|nursery)\.py"
    r"|tests/report/truth\.py|tools/reach\.py|pyproject\.toml|Makefile|\.ci/run"
)
"""What everything rests on; a change to it runs every slow test."""
PAGES: Final = re.compile(r"(docs/.*|[^/]+\.(md|cff|toml)|LICENSE|\.gitignore|\.ci/tested)")
"""What only tests of the whole tree read, and those that name the file."""
DYNAMIC: Final = {
    "src/vantage/_lazy.py", "src/vantage/cli/app.py", "src/vantage/collect/web/server.py",
    "src/vantage/corpora/readers/__init__.py", "src/vantage/corpora/readers/foreign.py",
    "src/vantage/corpora/writers/__init__.py", "src/vantage/interop/inspect_log.py",
    "src/vantage/measures/__init__.py", "src/vantage/measures/comparisons/scores.py",
    "src/vantage/measures/rationale/overlap.py", "src/vantage/measures/rationale/semantic.py",
    "src/vantage/measures/texts/dictionary.py", "src/vantage/raters/models/__init__.py",
    "src/vantage/raters/models/base.py", "src/vantage/raters/trained/saved.py", "src/vantage/report/charts/__init__.py",
    "src/vantage/report/parts.py", "src/vantage/runs/batch/protocols.py", "src/vantage/runs/engines/__init__.py",
    "src/vantage/studies/base.py",
}  # fmt: skip
"""The modules that import others by a name they compute; each was looked at, and `Reach` follows what it does."""
BY_NAME: Final = {"src/vantage/__init__.py", "src/vantage/cli/app.py", "src/vantage/studies/base.py"}
"""Modules whose strings are registries: what is registered is reached by those who name it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a file imports, and which words its strings have."""

    imports: frozenset[str]
    words: frozenset[str]
    names: frozenset[str]


@cache
def module_file(dotted: str) -> str | None:
    """The file of a module, from the root of the project.

    >>> module_file("vantage.cli"), module_file("vantage.nowhere")
    ('src/vantage/cli/__init__.py', None)
    """
    first, *rest = dotted.split(".")
    place = Path(FOLDERS.get(first, "."), *rest)
    options = (place.with_suffix(".py"), place / "__init__.py") if first in FOLDERS else ()
    return next((str(one) for one in options if (ROOT / one).is_file()), None)


@cache
def homes(package: str) -> dict[str, str]:
    """The names that a package loads when they are first used, and their modules."""
    lazy = getattr(importlib.import_module(package), "__getattr__", None)
    known: dict[str, str] = inspect.getclosurevars(lazy).nonlocals.get("homes", {}) if lazy else {}
    return known


@cache
def resolved(dotted: str) -> frozenset[str]:
    """The files that a dotted name stands for: its packages, and the module that has the name."""
    found: set[str] = set()
    parts = dotted.split(".")
    for end in range(1, len(parts) + 1):
        path = module_file(".".join(parts[:end]))
        if path is None:
            package = ".".join(parts[: end - 1])
            if parts[0] == "vantage" and end > 1 and (home := homes(package).get(parts[end - 1])):
                found |= resolved(home if home == dotted else ".".join([home, *parts[end:]]))
            break
        found.add(path)
    return frozenset(found)


def _unread(nodes: Iterable[ast.AST]) -> set[int]:
    """The docstrings, and what only type checkers read."""
    bodies = [n.body for n in nodes if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
    unread = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for block in nodes:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            unread |= {id(node) for part in block.body for node in ast.walk(part)}
    return unread


def _bound(node: ast.Import | ast.ImportFrom, package: str) -> dict[str, str]:
    """The names that an import binds, and what they stand for."""
    if isinstance(node, ast.ImportFrom):
        near = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        home = ".".join([*near, *filter(None, [node.module])])
        return {one.asname or one.name: f"{home}.{one.name}" for one in node.names}
    return {
        one.asname or one.name.split(".")[0]: one.name if one.asname else one.name.split(".")[0] for one in node.names
    }


def _in_string(text: str, package: str) -> set[str]:
    """The modules of Vantage that a string names: in full, or as `module:name` within a package."""
    dotted = re.findall(r"\bvantage(?:\.\w+)+", text)
    dotted += [f"{package}.{inner}" for inner in re.findall(r"(?:^|\s)(\w+(?:\.\w+)*):\w", text)] if package else []
    return {path for one in dotted for path in resolved(one)}


@cache
def read(path: str) -> Source:
    """What a Python file imports and says; names that it binds to packages of Vantage are followed to what is used."""
    text = (ROOT / path).read_text("utf-8")
    nodes = [*ast.walk(ast.parse(text))]
    unread = _unread(nodes)
    of_vantage = path.startswith("src/")
    package = str(Path(path).parent).removeprefix("src/").replace("/", ".")
    # What a face loads when it is asked for, and what is registered, is reached by those who name it.
    strings_count = path not in BY_NAME and "attach(" not in text
    imports, words, names, bound = set[str](), set[str](), set[str](), dict[str, str]()
    for node in nodes:
        if id(node) in unread:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= (made := _bound(node, package))
            whole = [one.name for one in node.names] if isinstance(node, ast.Import) else made.values()
            imports |= {file for dotted in whole for file in resolved(dotted)}
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A test may have a command or a recipe in one string; modules have names as strings of their own.
            words |= (
                {node.value}
                if of_vantage
                else {*re.findall(r"[\w-]+", node.value), *re.findall(r"[\w.-]+", node.value)}
            )
            imports |= _in_string(node.value, package if of_vantage else "") if strings_count else set()
            if not of_vantage and re.search(r"(^|/)vantage($| )", node.value):
                imports.add("src/vantage/__main__.py")
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    for node in nodes:
        if isinstance(node, ast.Attribute) and bound.get((chain := _chain(node))[0], "").startswith("vantage"):
            imports |= resolved(".".join([bound[chain[0]], *chain[1:]]))
    return Source(frozenset(imports - {path}), frozenset(words), frozenset(names))


def _chain(node: ast.expr) -> list[str]:
    """`a.b.c` as its parts; nothing else has a first one."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


class Reach:
    """Which files the tests reach."""

    def __init__(self) -> None:
        from vantage import _lazy
        from vantage.cli.app import VERBS
        from vantage.measures import HOMES
        from vantage.studies.base import STUDIES

        roles = {role: resolved(place.partition(":")[0]) for role, place in _lazy._PROVIDED.items()}
        self.verbs = {word: resolved(f"vantage.cli.{place.partition(':')[0]}") for word, (place, _) in VERBS.items()}
        self.studies = {name: resolved(place.partition(":")[0]) for name, place in STUDIES.items()}
        self.measures = {
            form: resolved(home) for name, home in HOMES.items() for form in (name, name.replace("_", "-"))
        }
        self.formats = {
            role.partition(".")[2]: files for role, files in roles.items() if not role.startswith("corpus.")
        }
        self.corpus = {role.partition(".")[2]: files for role, files in roles.items() if role.startswith("corpus.")}

    def further(self, path: str) -> set[str]:
        """What a file looks up by a name, besides what it imports."""
        seen = read(path)
        if CORE.fullmatch(path) and path.startswith("src/"):
            return set()  # what it looks up, others name
        words = seen.words | data_words(str(Path(path).parent)) if path.startswith("src/") else seen.words
        found: set[str] = set()
        for known in (self.measures, self.formats):
            found |= {one for word in words & known.keys() for one in known[word]}
        if seen.names & {"registry", "_loaded"}:
            found |= {one for files in self.measures.values() for one in files}
        if not path.startswith("src/"):
            found |= {one for name in seen.names & self.corpus.keys() for one in self.corpus[name]}
            if seen.names & {"STUDIES", "known"}:
                found |= {one for files in self.studies.values() for one in files}
            if seen.names & {"VERBS", "app"} and "src/vantage/cli/app.py" in seen.imports:
                found |= {one for files in self.verbs.values() for one in files}
        return found

    def of(self, test: str) -> set[str]:
        """Every file that a test file reaches, itself included."""
        reached: set[str] = set()
        said: set[str] = set()
        waiting = {test, *conftests(test)}
        while waiting:
            path = waiting.pop()
            if path not in reached and path.endswith(".py"):
                reached.add(path)
                said |= set() if path.startswith("src/") else read(path).words
                waiting |= read(path).imports | self.further(path)
            if not waiting:  # verbs and studies that tests name, where there is somebody to look them up
                asked = ((self.verbs, "src/vantage/cli/app.py"), (self.studies, "src/vantage/studies/base.py"))
                for known, who in asked:
                    waiting |= {one for word in said & known.keys() for one in known[word] if who in reached} - reached
        return reached


def conftests(test: str) -> set[str]:
    """The fixtures of its folders; those of all tests are the core."""
    folders = [str(folder) for folder in Path(test).parents if folder.parts and len(folder.parts) > 1]
    return {f"{folder}/conftest.py" for folder in folders if (ROOT / folder / "conftest.py").is_file()}


@cache
def data_words(folder: str) -> frozenset[str]:
    """The words of a folder's own recipes and tables of names."""
    texts = [path.read_text("utf-8") for path in (ROOT / folder).iterdir() if path.suffix in (".yaml", ".toml")]
    return frozenset(word for text in texts for word in re.findall(r"[\w-]+", text))


def stands_for(path: str) -> set[str]:
    """The Python files that a changed file stands for: itself, or those of the folder that reads it.

    >>> sorted(stands_for("src/vantage/studies/demo/recipe.yaml"))[0]
    'src/vantage/studies/demo/__init__.py'
    """
    if path.endswith(".py"):
        return {path}
    for folder in Path(path).parents:
        if folder.parts and (found := sorted((ROOT / folder).glob("*.py"))):
            return {str(one.relative_to(ROOT)) for one in found}
    return set()


def tests() -> list[str]:
    """Every file of tests that has slow ones, by its own marks or by those of a fixture of its folders."""
    known = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    return [
        test for test in known if any("slow" in (ROOT / path).read_text("utf-8") for path in (test, *conftests(test)))
    ]


def git(*words: str) -> list[str]:
    """What git says, a path for each entry; a `CalledProcessError` where it does not know the commit."""
    done = subprocess.run(["git", *words, "-z"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603, S607
    return [path for path in done.stdout.split("\0") if path]


def changed_since(commit: str) -> list[str]:
    """What differs from a commit, with what is not committed and what is new."""
    return sorted(
        {*git("diff", "--name-only", "--no-renames", commit), *git("ls-files", "--others", "--exclude-standard")}
    )


def reached(changed: Iterable[str]) -> dict[str, str] | None:
    """The files whose slow tests a change can reach, each with a changed file that it reaches; None for all of them."""
    targets: dict[str, str] = {}
    pages: list[str] = []
    for path in changed:
        if CORE.fullmatch(path):
            return None
        if PAGES.fullmatch(path):
            pages.append(path)
        elif files := stands_for(path):
            targets |= dict.fromkeys(files, path)
        else:
            return None
    known, found = Reach(), dict[str, str]()
    for test in tests():
        hits = _hits(test, known.of(test), targets, pages)
        if (first := next(hits, None)) is not None:
            found[test] = first
    return found


def _hits(test: str, files: set[str], targets: dict[str, str], pages: list[str]) -> Iterator[str]:
    if Path(test).parent == Path("tests") and (targets or pages):
        yield "the whole tree"
    yield from (targets[one] for one in sorted(files & targets.keys()))
    # A file of data that tests keep stands for every test below its folder.
    yield from (path for path in targets.values() if not path.endswith(".py") and _below(test, path))
    words = {word for one in files if one.startswith("tests/") for word in read(one).words}
    all_pages = "docs" in read(test).words
    yield from (page for page in pages if Path(page).name in words or (all_pages and page.startswith("docs/")))


def _below(test: str, path: str) -> bool:
    return path.startswith("tests/") and Path(path).parent in Path(test).parents


def since(commit: str) -> dict[str, str] | None:
    """As `reached`, from a commit to the files as they are; None where anything is in doubt."""
    try:
        return reached(changed_since(commit))
    except (OSError, subprocess.CalledProcessError, SyntaxError, ImportError):
        return None


def main() -> None:
    """Prints the test files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("--why", action="store_true", help="name a changed file that each reaches")
    given = parser.parse_args()
    found = since(given.commit)
    lines = (
        ["everything"] if found is None else [f"{test}  {why}" if given.why else test for test, why in found.items()]
    )
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
