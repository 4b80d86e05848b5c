"""The explorer: a local page on which every judgment can be looked at, and the same page as one file.

`opening` finds what paths hold, `explorer` answers every question of the page with plain data, `app` serves it and
`exporting` writes it into one file. The page is `static/`: written by hand, without a library or a build step. To add a
view, add a method to `Explorer` and its name to `VIEWS`, and draw it in `static/view.js`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.view.explorer import Explorer as Explorer
    from vantage.view.exporting import export as export
    from vantage.view.opening import open_paths as open_paths
else:
    _HOMES = {
        "Explorer": "vantage.view.explorer",
        "export": "vantage.view.exporting",
        "open_paths": "vantage.view.opening",
    }
    __getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["Explorer", "export", "open_paths"]
