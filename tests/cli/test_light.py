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
from vantage.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["vantage", *words]
    try:
        main()
    except SystemExit:
        pass
sys.stderr.write("\\n" + json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def loaded(code: str, *commands: tuple[str, ...]) -> set[str]:
    """What is loaded after all of these commands, one after the other."""
    words = [sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    told = "json.dumps(sorted(m.split('.')[0] for m in sys.modules))"
    code = f"import vantage, json, sys; sys.stderr.write('\\n' + {told})"
    assert loaded(code) & HEAVY == set()


def test_help_of_a_verb_loads_nothing_heavy_of_ours() -> None:
    verbs = ("instruments", "instruments show", "corpora", "corpora import", "measure", "demo", "runs", "rate")
    # Typer itself looks at the types of a verb's options with Pydantic.
    assert loaded(RUN, *((*verb.split(), "--help") for verb in verbs)) & HEAVY <= {"pydantic"}


def test_help_loads_nothing_heavy() -> None:
    assert loaded(RUN, ("--help",), ("--version",), ()) & HEAVY == set()


def test_listing_needs_no_tables() -> None:
    found = loaded(RUN, ("instruments",), ("instruments", "show", "sarcasm"), ("corpora",))
    assert found & {"polars", "numpy", "scipy", "sklearn", "matplotlib", "torch"} == set()


def test_describing_needs_neither_scipy_nor_scikit_learn() -> None:
    found = loaded(RUN, ("corpora", "describe", "nowhere"))
    assert found & {"scipy", "sklearn", "matplotlib", "torch", "pandas"} == set()


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
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("httptools", "httpx2", "itsdangerous", "sqlalchemy", "uvloop", "lxml"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from vantage.cli import main
done = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["vantage", *words]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as told:
        try:
            main()
        except SystemExit as ended:
            done.append((ended.code or 0, told.getvalue()))
        else:
            done.append((0, told.getvalue()))
sys.stdout.write(json.dumps(done))
"""


def without_collect(folder: Path, *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """Commands where what only asking people needs is not installed: the exit code and standard error of each."""
    demo_corpus().write(folder / "demo")
    command = [sys.executable, "-c", WITHOUT, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [(code, told) for code, told in json.loads(done.stdout)]


def test_nothing_but_collecting_needs_its_extra(tmp_path: Path) -> None:
    commands = [
        ("--help",),
        ("collect", "--help"),
        ("measure", "alpha", "demo", "--by", "question", "--where", "kind=person"),
        ("rate", "demo", "--question", "trust", "--show", "1"),
        ("card", "demo"),
        ("view", "demo", "--export", "demo.html"),
    ]
    for words, (code, told) in zip(commands, without_collect(tmp_path, *commands), strict=True):
        assert code == 0, (words, told)


def test_collecting_says_in_a_sentence_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("title: A study\n", "utf-8")
    commands = [
        ("collect", "serve", "demo", "--instrument", "trust"),
        ("collect", "status", "demo", "--instrument", "trust"),
        ("collect", "recruit", "status", "study.yaml"),
    ]
    for words, (code, told) in zip(commands, without_collect(tmp_path, *commands), strict=True):
        assert code == 2, words
        assert told.endswith("which is not installed; run: pip install 'vantage-raters[collect]'.\n"), (words, told)
