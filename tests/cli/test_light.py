"""Which modules the light verbs load: a heavy import that creeps in is felt by everyone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from vantage import demo_corpus

HEAVY = {
    *("polars", "numpy", "scipy", "pandas", "sklearn", "matplotlib", "torch", "transformers"),
    *("pydantic", "yaml", "rich", "starlette", "sqlalchemy", "openai", "ray"),
}
RUN = """
import json, sys
sys.argv = ["vantage", *json.loads(sys.argv[1])]
from vantage.cli import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write("\\n" + json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def loaded(code: str, *words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code, json.dumps(words)], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    told = "json.dumps(sorted(m.split('.')[0] for m in sys.modules))"
    code = f"import vantage, json, sys; sys.stderr.write('\\n' + {told})"
    assert loaded(code) & HEAVY == set()


@pytest.mark.parametrize(
    "words",
    [
        ("instruments", "--help"),
        ("instruments", "show", "--help"),
        ("corpora", "--help"),
        ("corpora", "import", "--help"),
        ("measure", "--help"),
        ("demo", "--help"),
        ("runs", "--help"),
        ("rate", "--help"),
    ],
)
def test_help_of_a_verb_loads_nothing_heavy_of_ours(words: tuple[str, ...]) -> None:
    # Typer itself looks at the types of a verb's options with Pydantic.
    assert loaded(RUN, *words) & HEAVY <= {"pydantic"}


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()])
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    assert loaded(RUN, *words) & HEAVY == set()


@pytest.mark.parametrize("words", [("instruments",), ("instruments", "show", "sarcasm"), ("corpora",)])
def test_listing_needs_no_tables(words: tuple[str, ...]) -> None:
    assert loaded(RUN, *words) & {"polars", "numpy", "scipy", "sklearn", "matplotlib", "torch"} == set()


def test_describing_needs_neither_scipy_nor_scikit_learn() -> None:
    assert (
        loaded(RUN, "corpora", "describe", "nowhere") & {"scipy", "sklearn", "matplotlib", "torch", "pandas"} == set()
    )


def test_a_verb_that_is_interrupted_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vantage.cli import app as verbs
    from vantage.cli import main

    interrupted = typer.Typer()

    @interrupted.command()
    def _wait() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verbs, "app", interrupted)
    monkeypatch.setattr(sys, "argv", ["vantage"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "vantage: interrupted\n"


def test_reports_and_measures_load_no_client_and_no_statistics_that_they_do_not_use() -> None:
    code = """
import json, sys
import vantage.report.folder, vantage.view.explorer
from vantage.measures import find
assert find("alpha").name == "alpha" and find("split-half").name == "split-half"
sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
    assert loaded(code) & {"openai", "scipy.stats", "sklearn", "vantage.measures.models.facets"} == set()


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "vantage", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith("Usage: vantage ")


WITHOUT = """
import json, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("httptools", "httpx2", "itsdangerous", "sqlalchemy", "uvloop", "lxml"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
sys.argv = ["vantage", *json.loads(sys.argv[1])]
from vantage.cli import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, as a user without the extra `collect` would have it."""
    return demo_corpus().write(tmp_path_factory.mktemp("light") / "demo")


def without_collect(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command where what only asking people needs is not installed."""
    command = [sys.executable, "-c", WITHOUT, json.dumps(words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder.parent)


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("collect", "--help"),
        ("measure", "alpha", "demo", "--by", "question", "--where", "kind=person"),
        ("rate", "demo", "--question", "trust", "--show", "1"),
        ("card", "demo"),
        ("view", "demo", "--export", "demo.html"),
    ],
)
def test_nothing_but_collecting_needs_its_extra(folder: Path, words: tuple[str, ...]) -> None:
    done = without_collect(folder, *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "serve", "demo", "--instrument", "trust"),
        ("collect", "status", "demo", "--instrument", "trust"),
        ("collect", "recruit", "status", "study.yaml"),
    ],
)
def test_collecting_says_in_a_sentence_what_to_install(folder: Path, words: tuple[str, ...]) -> None:
    (folder.parent / "study.yaml").write_text("title: A study\n", "utf-8")
    done = without_collect(folder, *words)
    assert done.returncode == 2
    assert done.stderr.endswith("which is not installed; run: pip install 'vantage-raters[collect]'.\n"), done.stderr
