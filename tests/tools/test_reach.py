"""The slow tests that a change can reach: never fewer than those that load what was changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import unreached
from tools import reach

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import json, sys, pytest
class Listed:
    def pytest_sessionfinish(self):
        files = [getattr(one, "__file__", None) or "" for one in list(sys.modules.values())]
        print("\\n" + json.dumps([file for file in files if file.endswith(".py")]))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", *sys.argv[1:]], plugins=[Listed()]))
"""


@pytest.fixture(scope="module")
def known() -> reach.Reach:
    return reach.Reach()


def reaching(known: reach.Reach, changed: str) -> set[str]:
    return {test for test in reach.tests() if changed in known.of(test)}


def test_imports_are_followed_through_faces_and_strings() -> None:
    assert "src/vantage/measures/models/dif.py" in reach.resolved("vantage.measures.dif")
    assert "src/vantage/corpora/bundled/__init__.py" in reach.resolved("vantage.demo_corpus")
    assert "src/vantage/runs/store.py" not in reach.resolved("vantage.runs.RunOptions")
    assert reach.resolved("numpy.random") == set()
    assert "tests/raters/models/endpoint.py" in reach.read("tests/raters/models/providers.py").imports  # from .endpoint
    engines = reach.read("src/vantage/runs/engines/__init__.py").imports
    assert "src/vantage/runs/engines/ray.py" in engines  # named in a string
    charts = reach.read("src/vantage/report/charts/__init__.py").imports
    assert len([path for path in charts if path.startswith("src/vantage/report/charts/")]) > 5


@pytest.mark.slow
def test_a_change_reaches_its_own_tests_and_those_above_it(known: reach.Reach) -> None:
    stored = reaching(known, "src/vantage/runs/store.py")
    assert {"tests/runs/test_store.py", "tests/runs/test_kill.py", "tests/studies/wcsent/test_study.py"} <= stored
    assert not {"tests/corpora/test_large.py", "tests/measures/test_intervals.py"} & stored
    wcsent = reaching(known, "src/vantage/studies/wcsent/study.py")
    assert "tests/studies/wcsent/test_study.py" in wcsent
    assert "tests/studies/test_every_kind.py" in wcsent  # goes through all studies by their names
    assert len(wcsent) < len(reach.tests()) / 5
    verbs = reaching(known, "src/vantage/cli/train.py")
    assert "tests/cli/test_train.py" in verbs  # by its name, as on the command line
    assert len(verbs) < len(reach.tests()) / 3


@pytest.mark.parametrize(
    "path",
    [
        *("src/vantage/corpora/corpus.py", "src/vantage/measures/kernel.py", "src/vantage/_lazy.py", "pyproject.toml"),
        *("tests/conftest.py", "Makefile", ".ci/run", "tools/reach.py", "src/vantage/instruments/bundled/a.yaml"),
        *("a-new-folder/with/something.bin", "src/vantage/scales.py"),
    ],
)
def test_the_core_and_what_is_unknown_reach_everything(path: str) -> None:
    assert reach.reached(["docs/index.md", path]) is None


@pytest.mark.slow
def test_data_stand_for_the_modules_of_their_folder_and_pages_for_tests_that_name_them() -> None:
    found = reach.reached(["src/vantage/studies/perseval/recipe.yaml"]) or {}
    assert found["tests/studies/perseval/test_study.py"] == "src/vantage/studies/perseval/recipe.yaml"
    assert "tests/corpora/test_large.py" not in found
    pages = reach.reached(["docs/index.md"]) or {}
    assert {"tests/test_docs.py", "tests/test_language.py"} <= pages.keys()
    assert "tests/runs/test_store.py" not in pages
    assert reach.reached([]) == {}
    assert "tests/runs/test_store.py" not in (reach.reached([".ci/tested"]) or {"": ""})
    own = reach.reached(["tests/runs/test_store.py"]) or {}
    assert "tests/runs/test_store.py" in own
    helper = reach.reached(["tests/runs/killed.py"]) or {}
    assert "tests/runs/test_kill.py" in helper


def test_an_unknown_commit_runs_everything() -> None:
    assert reach.since("0" * 40) is None
    assert reach.since("--no-such-thing") is None


def test_changes_are_read_from_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        command = ["git", *who, *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "a.py").write_text("a = 1\n", "utf-8")
    (tmp_path / "b c.py").write_text("b = 1\n", "utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "First")
    first = git("rev-parse", "HEAD")
    monkeypatch.setattr(reach, "ROOT", tmp_path)
    assert reach.changed_since(first) == []
    (tmp_path / "b c.py").write_text("b = 2\n", "utf-8")
    git("commit", "-qam", "Second")
    (tmp_path / "a.py").unlink()
    (tmp_path / "new.py").write_text("", "utf-8")
    assert reach.changed_since(first) == ["a.py", "b c.py", "new.py"]


def test_only_slow_tests_of_other_files_are_left_out() -> None:
    def item(file: str, *, slow: bool) -> Any:
        return SimpleNamespace(path=ROOT / file, get_closest_marker=lambda name: (slow and name == "slow") or None)

    items = [item("tests/a.py", slow=True), item("tests/a.py", slow=False), item("tests/b.py", slow=True)]
    assert unreached(items, "everything") == []
    assert unreached(items, "only") == [items[0], items[2]]
    assert unreached(items, "only\ntests/b.py") == [items[0]]


def test_modules_that_compute_what_they_import_are_known() -> None:
    """A new one must be looked at, as `Reach` may have to follow it."""
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    dynamic = {
        path for path, text in sources.items() if re.search(r"\b(import_module|resolve_name|__import__)\(", text)
    }
    assert dynamic == reach.DYNAMIC


@pytest.mark.slow
@pytest.mark.parametrize("test", ["tests/robust/test_joint.py", "tests/cli/test_audit.py", "tests/runs/test_claims.py"])
def test_everything_that_a_test_loads_is_reached(known: reach.Reach, test: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("SINCE", "VANTAGE_REACHED")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, test], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    listed = next(line for line in done.stdout.splitlines() if line.startswith('["'))
    loaded = {Path(one) for one in json.loads(listed)}
    files = {str(path.relative_to(ROOT)) for path in loaded if ROOT in path.parents and ".venv" not in path.parts}
    assert any(file.startswith("src/vantage/") for file in files)
    # All tests load what `tests/conftest.py` does, for the report that some of them write: it is the core's.
    everyone = known.of("tests/conftest.py") | {"src/conftest.py"}
    assert {file for file in files - known.of(test) - everyone if not file.endswith("__init__.py")} == set()
