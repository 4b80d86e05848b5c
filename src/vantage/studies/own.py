"""Studies of one's own: a Python file with a `STUDY`, run by its path.

The file is code and is run as such, like any Python file that is started: run only what you have read.
"""

from __future__ import annotations

import sys
import traceback
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from vantage.errors import InputError, VantageError
from vantage.studies.base import Study


def is_path(name: str) -> bool:
    """Whether a study is named by its file.

    >>> is_path("study.py"), is_path("demo")
    (True, False)
    """
    return name.endswith(".py")


def load(path: str | Path) -> Study[Any]:
    """The study that a file holds under the name `STUDY`; modules beside the file can be imported by it."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", file=path, remedy="begin one with: vantage new study NAME")
    # A name that no other file has, under which the types of the options are found again.
    name = f"vantage_study_{sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a file whose name ends in .py has one
    assert spec.loader is not None  # noqa: S101
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except VantageError:
        raise
    except Exception as error:
        raise InputError(
            f"the file cannot be run ({type(error).__name__}: {error})",
            file=path,
            row=_line(error, path),
            remedy="correct it; a new one is made by: vantage new study NAME",
        ) from error
    finally:
        sys.path.remove(folder)
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise InputError("the file has no STUDY", file=path, remedy="see the one that vantage new study NAME makes")
    return study


def _line(error: Exception, path: Path) -> int | None:
    """The line of the file at which it went wrong."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return lines[-1] if lines else None
