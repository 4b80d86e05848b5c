"""What several tests share."""

from __future__ import annotations

import copy
import functools
import gc
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import typer.main
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from vantage.corpora import Corpus, bundled

SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.register_profile("vantage", SHARED, max_examples=25, derandomize=True)
settings.register_profile("quick", SHARED, max_examples=8, derandomize=True)
settings.register_profile("explore", SHARED, max_examples=300)
# The same examples every time, so that a change is judged by what it changes: `make test` takes few, CI more, and
# `make explore` looks for new ones.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "vantage"))

# Keys and platform ids of invented studies go to a folder of their own, also in processes that tests start.
os.environ["VANTAGE_STATE"] = tempfile.mkdtemp(prefix="vantage-state-")

# Full garbage collections of all that tests import take a second each, and find next to nothing.
gc.set_threshold(50_000, 20, 500)

# The command line is built once for each worker, not for each command.
typer.main.get_command = functools.cache(typer.main.get_command)


def _read_once(make: Callable[[], Corpus]) -> Callable[[], Corpus]:
    """A bundled corpus, read once for each worker; every caller has a copy to change."""
    kept = functools.cache(make)

    @functools.wraps(make)
    def copied() -> Corpus:
        corpus = copy.copy(kept())
        corpus._tables = {name: table.clone() for name, table in corpus._tables.items()}
        return corpus

    return copied


bundled.demo_corpus, bundled.planted_corpus = _read_once(bundled.demo_corpus), _read_once(bundled.planted_corpus)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("VANTAGE_DATA") or ROOT.parent / "shared" / "data")
    folder = folder if folder.is_absolute() else ROOT / folder
    if not folder.is_dir():
        pytest.skip(f"the published data are not here ({folder.name}); set VANTAGE_DATA to their folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _reports_agree() -> Iterator[None]:
    """Every report that a test writes is looked through: its sentences, ledger, tables and figures must agree.

    Figures on paper leave out what a font says of ligatures and kerning, which takes a third of the time of a report:
    Matplotlib places every letter itself.
    """
    from fontTools.subset import Options

    from tests.report.truth import check_ledger
    from vantage.report.folder import Report

    write = Report.write

    def checked(self: Report, folder: str | Path, *, pdf: bool = False) -> Path:
        check_ledger(self.result)
        return write(self, folder, pdf=pdf)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Report, "write", checked)
        patch.setattr(Options, "_drop_tables_default", [*Options._drop_tables_default, "GDEF", "GPOS", "GSUB"])
        yield


def pytest_configure(config: pytest.Config) -> None:
    """With `SINCE=COMMIT` in the environment, finds once which slow tests a change since then can reach."""
    commit = os.environ.get("SINCE")
    if commit and not hasattr(config, "workerinput"):
        from tools import reach

        found = reach.since(commit)
        os.environ["VANTAGE_REACHED"] = "everything" if found is None else "\n".join(["only", *found])


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests are looked for in files that have some, as in `src`."""
    found = yield
    return found if b">>> " in file_path.read_bytes() else [one for one in found if not isinstance(one, DoctestModule)]


def pytest_report_header() -> list[str]:
    """Says which slow tests are run."""
    word, *files = os.environ.get("VANTAGE_REACHED", "everything").split("\n")
    since = os.environ.get("SINCE")
    if not since:
        return []
    return [
        f"slow tests: of {len(files)} files that changes since {since} reach" if word == "only" else "slow tests: all"
    ]


def unreached(items: list[pytest.Item], reached: str) -> list[pytest.Item]:
    """The slow tests of files that are not named; nothing without names."""
    word, *files = reached.split("\n")
    known = {ROOT / file for file in files}
    return [one for one in items if one.get_closest_marker("slow") and one.path not in known] if word == "only" else []


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out slow tests that no change reaches, and keeps tests together that share a fixture."""
    if left := unreached(items, os.environ.get("VANTAGE_REACHED", "everything")):
        config.hook.pytest_deselected(items=left)
        items[:] = [one for one in items if one not in {*left}]
    _keep_together(items)


def _keep_together(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module, or a server, go to the same worker, so that it is made once."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("xdist_group") is None:
            if "postgres" in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group("postgres"))
            made = item._fixtureinfo.name2fixturedefs.values()
            if any(ways[-1].scope == "module" and not ways[-1].baseid.endswith("conftest.py") for ways in made):
                item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Everything is given back at the end, as without the above."""
    gc.unfreeze()


collect_ignore = ["example_package"]
