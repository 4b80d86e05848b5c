"""The command line: one module per kind of verb.

Only Typer is imported when help is asked for. Packages are imported at the top of a module, since their faces load a
name when it is first used; what a face does not have is imported in the function that needs it. To add a verb, write
its function and list it in `app.VERBS`.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from typing import Any, NoReturn

from vantage.errors import InputError, VantageError, not_installed


def main() -> None:
    """Runs a verb; bad input ends with one sentence and exit code 2, never with a traceback."""
    # Tables of replies have many small objects and no cycles; looking for cycles would take a tenth of the time.
    gc.set_threshold(50_000)
    try:
        # Inside, so that an interruption while the verbs are imported is no traceback either.
        from vantage.cli.app import app

        with warnings.catch_warnings():
            _plain_warnings()
            app(prog_name="vantage")
    except VantageError as error:
        _refuse(error)
    except ModuleNotFoundError as error:
        if (said := not_installed(error)) is error:
            raise
        _refuse(said)
    except KeyboardInterrupt:
        sys.stderr.write("vantage: interrupted\n")
        sys.exit(130)
    except SystemExit as ended:
        # Typer ends a verb that was interrupted without a word.
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            sys.stderr.write("vantage: interrupted\n")
        raise
    except BrokenPipeError:
        # The program that reads our output (head, less) has ended.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # A path that is no path, a folder without permission, a full disk: the system says what it is.
        _refuse(InputError(error.strerror or str(error), file=error.filename, remedy="check the path and the disk"))


def _refuse(error: Exception) -> NoReturn:
    sys.stderr.write(f"vantage: {error}\n")
    sys.exit(2)


def _plain_warnings() -> None:
    """Prints warnings for users as sentences, without the line of code that gave them."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            sys.stderr.write(f"Warning: {message}\n")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    warnings.simplefilter("default", UserWarning)
