"""What other packages add: the example package is installed and used, and broken ones break nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.cli.run import run
from vantage import InputError, Instrument, demo_corpus
from vantage.cli import doctor as checkup
from vantage.corpora.readers import load
from vantage.instruments import PLUGINS as INSTRUMENTS
from vantage.measures import find, registry
from vantage.measures.base import REGISTRY, measure
from vantage.plugins import PluginWarning, installed
from vantage.raters.models import load_model
from vantage.report.charts import chart
from vantage.studies.base import find as find_study

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "example_package"
KINDS = ("charts", "instruments", "measures", "models", "readers", "studies")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example package is installed as a user would install it."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("plugins")
    source = shutil.copytree(EXAMPLE, folder / "source")
    words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(folder / "site"),
    ]
    done = subprocess.run([sys.executable, *words, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that this process finds; `package` puts some there."""
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    yield tmp_path
    installed.cache_clear()
    for name in [name for name, known in REGISTRY.items() if not known.built_in]:
        del REGISTRY[name]


def package(folder: Path, name: str, entries: dict[str, dict[str, str]], code: str = "") -> None:
    """An installed package with entry points, whose only module has the name of the package."""
    (folder / f"{name}.py").write_text(code, "utf-8")
    about = folder / f"{name}-0.3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n", "utf-8")
    lines = []
    for group, names in entries.items():
        lines += [f"[vantage.{group}]", *(f"{key} = {value}" for key, value in names.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")


RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from vantage.cli import main
for words in json.loads(sys.argv[2]):
    sys.argv = ["vantage", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
"""


@pytest.mark.slow
def test_everything_that_a_package_adds_is_used_by_name(site: Path, tmp_path: Path) -> None:
    data, corpus, study = (str(tmp_path / name) for name in ("lab.csv", "corpus", "study"))
    Path(data).write_text("ID,Sentence,Rater,Stars\n1,Of help.,ann,5\n1,Of help.,bob,3\n2,Bad.,ann,3\n2,Bad.,bob,1\n")
    verbs = [
        ["corpora", "import", "lab", "--from", data, "--to", corpus, "--option", "least=2"],
        ["rate", corpus, "--instrument", "lab-stars", "--model", "lab:help", "--setting", "most=4"],
        ["study", "lab-stars", "--data", data, "--model", "lab:help", "--around", "1", "--to", study],
        ["measure", "midpoint-share", corpus, "--by", "rater", "--json"],
    ]
    words = [sys.executable, "-c", RUN, str(site), json.dumps(verbs)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout[done.stdout.index("\n[\n") :])
    # Bob's single star was left out by the reader; the model gives four stars to the one, one to the other.
    shares = {row["rater"]: (row["estimate"], row["judgments"]) for row in rows}
    assert shares == {"ann": (0.5, 2), "bob": (1.0, 1), "lab:help+zero-shot": (0.0, 2)}
    assert (tmp_path / "study" / "figures" / "strip.svg").is_file()
    middle = pl.read_parquet(tmp_path / "study" / "tables" / "middle.parquet")
    assert dict(middle.select("rater", "estimate").iter_rows()) == {"ann": 0.5, "bob": 0.5, "lab:help+zero-shot": 0.0}


def test_lists_and_doctor_name_what_was_added(
    site: Path, packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(site))
    for words, name in (
        (("measure", "--list"), "midpoint-share"),
        (("corpora",), "lab"),
        (("instruments",), "lab-stars"),
        (("study", "--list"), "lab-stars"),
    ):
        done = run(capsys, monkeypatch, *words, "--json")
        assert name in {next(iter(row.values())) for row in done.json}, words
        assert done.err == ""
    texts = {notice.part: notice.text for notice in checkup.plugins()}
    assert len(texts) == len(KINDS)
    assert texts["plugin measure midpoint-share"] == "vantage-lab 1.2 (vantage_lab.measures:midpoint_share)"
    package(packages, "torn", {"charts": {"torn": "torn:x", "map": "torn:x"}}, "import nowhere_at_all\n")
    installed.cache_clear()
    monkeypatch.setattr(checkup, "models", list)
    monkeypatch.setattr(checkup, "gpu", list)
    doctor = run(capsys, monkeypatch, "doctor")
    assert doctor.code == 1
    assert "✓ plugin reader lab: vantage-lab 1.2" in doctor.out
    assert "✗ plugin chart torn: torn 0.3: entry point 'torn' in vantage.charts cannot be imported" in doctor.out
    assert "✗ plugin chart map: torn 0.3: entry point 'map' in vantage.charts has the name of a built-in" in doctor.out


def test_a_package_is_imported_only_when_its_own_things_are_used(site: Path, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import vantage\n"
        "from vantage.measures import PLUGINS, find\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "find('alpha'); vantage.Instrument.load('irony')\n"
        "assert PLUGINS.names() == ['midpoint-share']\n"
        "assert not any(name.startswith('vantage_lab') for name in sys.modules)\n"
        "find('midpoint-share')\n"
        "assert 'vantage_lab.measures' in sys.modules\n"
        "assert 'vantage_lab.readers' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_documentation_shows_the_example() -> None:
    shown = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "adding.md").read_text("utf-8"), re.M | re.S)
    assert (EXAMPLE / "pyproject.toml").read_text("utf-8") in shown


USES = {
    "measures": find,
    "readers": lambda name: load(name, "nowhere"),
    "models": lambda name: load_model(f"{name}:x"),
    "studies": find_study,
    "instruments": Instrument.load,
    "charts": chart,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("badly:THING", "is n"),
        ("badly_missing:THING", r"cannot be imported \(ModuleNotFoundError: No module named 'badly_missing'\)"),
        ("badly:NOTHING", r"cannot be imported \(AttributeError: "),
    ],
)
def test_a_broken_plugin_is_one_sentence_with_package_and_entry_point(
    packages: Path, kind: str, value: str, reason: str
) -> None:
    package(packages, "badly", {kind: {"odd": value}}, "THING = 7\n")
    with pytest.raises(InputError, match=rf"^badly 0\.3: entry point 'odd' in vantage\.{kind} {reason}") as told:
        USES[kind]("odd")
    assert "\n" not in str(told.value)
    assert str(told.value).endswith("update or uninstall the package.")


def test_a_package_that_ends_the_process_on_import_does_not(packages: Path) -> None:
    package(packages, "ends", {"readers": {"odd": "ends:x"}}, "raise SystemExit('no\\nway')\n")
    with pytest.raises(InputError, match=r"cannot be imported \(SystemExit: no way\)"):
        load("odd", "nowhere")


@pytest.mark.filterwarnings("default::vantage.plugins.PluginWarning")
def test_the_rest_works_beside_a_broken_plugin(
    packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = "from vantage.measures.base import measure, table\n@measure('fine', family='variation')\n"
    good += "def fine(data, *, by=()):\n    '''One.'''\n    return table([{'estimate': 1.0}], by)\n"
    package(packages, "good", {"measures": {"fine": "good:fine", "alpha": "good:fine", "other": "good:fine"}}, good)
    package(packages, "torn", {"measures": {"torn": "torn:x"}}, "import nowhere_at_all\n")
    done = run(capsys, monkeypatch, "measure", "--list", "--json")
    names = [row["measure"] for row in done.json]
    assert {"alpha", "fine"} <= set(names)
    assert not {"torn", "other"} & set(names)
    assert sorted(done.err.splitlines()) == [
        "Warning: good 0.3: entry point 'alpha' in vantage.measures has the name of a built-in measure, which is used "
        "instead; rename it.",
        "Warning: good 0.3: entry point 'other' in vantage.measures is not a function with @measure('other', …); "
        "update or uninstall the package.",
        "Warning: torn 0.3: entry point 'torn' in vantage.measures cannot be imported (ModuleNotFoundError: No module "
        "named 'nowhere_at_all'); update or uninstall the package.",
    ]
    folder = demo_corpus().write(packages / "demo")
    assert run(capsys, monkeypatch, "measure", "fine", folder, "--json").json[0]["estimate"] == 1.0
    used = run(capsys, monkeypatch, "measure", "alpha", folder, "--json")
    assert (used.err, used.json[0]["measure"]) == ("", "alpha")
    asked = run(capsys, monkeypatch, "measure", "torn", folder)
    assert (asked.code, asked.err.count("\n")) == (2, 1)
    assert "did you mean 'torn'" in run(capsys, monkeypatch, "measure", "trn", folder).err


def test_a_measure_of_another_package_cannot_take_a_built_in_name(packages: Path) -> None:
    @measure("alpha", family="agreement")
    def alpha(data: object) -> pl.DataFrame:
        raise AssertionError("the built-in one is meant")

    assert find("alpha").function.__module__ == "vantage.measures.agreement.alpha"


def test_two_packages_with_the_same_name_are_told_apart(packages: Path) -> None:
    code = "from vantage.corpora.readers import Reader\nREADER = Reader('same', 'x', 'y', 'z', function=len)\n"
    package(packages, "one", {"readers": {"same": "one:READER"}}, code)
    package(packages, "two", {"readers": {"same": "two:READER", "named": "one:READER"}}, code)
    with pytest.raises(InputError, match=r"^one 0\.3: .* has a name that two 0\.3 uses too; uninstall one of the two"):
        load("same", "nowhere")
    with pytest.raises(InputError, match=r"^two 0\.3: .* is a reader with another name, 'same'"):
        load("named", "nowhere")


def test_an_instrument_with_problems_is_told(packages: Path) -> None:
    package(packages, "asks", {"instruments": {"bad": "asks:FILE"}}, f"FILE = {str(packages / 'bad.yaml')!r}\n")
    (packages / "bad.yaml").write_text("id: bad\nversion: one\n", "utf-8")
    told = r"(?s)^asks 0\.3: entry point 'bad' in vantage\.instruments is not a valid instrument .*bad\.yaml"
    with pytest.raises(InputError, match=told):
        Instrument.load("bad")
    with pytest.warns(PluginWarning, match="not a valid instrument"):
        assert INSTRUMENTS.working() == {}


def test_without_plugins_nothing_is_added() -> None:
    assert [plugin for kind in KINDS for plugin in installed(kind)] == []
    assert registry().keys() == REGISTRY.keys()
