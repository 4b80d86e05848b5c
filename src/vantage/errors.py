"""What Vantage says when it is given something it cannot use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class VantageError(Exception):
    """The base of every error that Vantage raises on purpose."""


class InputError(VantageError, ValueError):
    """Bad input: one sentence that names the place and the remedy.

    The command line prints it and ends with exit code 2.

    >>> raise InputError("the file has no column 'rater'", file="a.csv", remedy="pass --map rater=COLUMN")
    Traceback (most recent call last):
        ...
    vantage.errors.InputError: a.csv: the file has no column 'rater'; pass --map rater=COLUMN.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        row: int | None = None,
        column: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem, self.file, self.row, self.column, self.remedy = problem, file, row, column, remedy
        place = [str(file)] if file is not None else []
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column '{column}'")
        sentence = f"{', '.join(place)}: {problem}" if place else problem
        if remedy:
            sentence = f"{sentence}; {remedy}"
        super().__init__(sentence if sentence.endswith((".", "?")) else f"{sentence}.")


class Problems(InputError):  # noqa: N818 - it is a collection
    """Several problems of one file, reported together, each with its place."""

    def __init__(self, file: object, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        VantageError.__init__(self, "\n".join([f"{file}: {count}", *(f"  {line}" for line in problems)]))


def nearest(name: str, known: Sequence[str]) -> str:
    """A "did you mean" clause, or the list of known names.

    >>> nearest("sarcsm", ["sarcasm", "irony"])
    "did you mean 'sarcasm'?"
    >>> nearest("xyz", ["sarcasm", "irony"])
    'available: sarcasm, irony'
    """
    from difflib import get_close_matches

    if not known:
        return "there are none"
    close = get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"available: {', '.join(known)}"


COLLECTING: Final = ("httptools", "httpx2", "itsdangerous", "sqlalchemy", "uvloop")
"""Packages that only asking people needs: the extra `collect`."""


def not_installed(error: ModuleNotFoundError) -> Exception:
    """What to install where a package of an extra is missing; any other error as it is.

    >>> not_installed(ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy"))
    InputError("Asking people needs 'sqlalchemy', which is not installed; run: pip install 'vantage-raters[collect]'.")
    """
    if error.name in COLLECTING:
        problem = f"Asking people needs '{error.name}', which is not installed"
        return InputError(problem, remedy="run: pip install 'vantage-raters[collect]'")
    return error
