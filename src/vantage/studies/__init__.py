"""Studies: recipes that join instruments, corpora, raters and measures into one report with tables and figures.

`base` says what a study is and shows how one is written; each further module or folder is one study. May import
everything but the command line. To add one, write a module with a `STUDY` and list it in `base.STUDIES`; what a
second study needs too belongs into `measures`, `raters` or `report`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.studies.base import Study as Study
    from vantage.studies.base import find as find
    from vantage.studies.base import names as names
    from vantage.studies.base import option as option
    from vantage.studies.execution import Context as Context
    from vantage.studies.running import preview as preview
    from vantage.studies.running import run as run

_HOMES = {
    **dict.fromkeys(("Study", "find", "names", "option"), "vantage.studies.base"),
    "Context": "vantage.studies.execution",
    **dict.fromkeys(("preview", "run"), "vantage.studies.running"),
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
