"""What notebooks show: small pieces of HTML in which everything is escaped, and tables as pandas frames.

May import `errors` only; objects of other packages build their `_repr_html_` from `html`. Colours are those of the page
that shows it, so that it reads in the light and in the dark. The next piece of HTML is a function in `html`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.notebook.frames import ResultFrame as ResultFrame
    from vantage.notebook.frames import to_polars as to_polars

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, dict.fromkeys(("ResultFrame", "to_polars"), "vantage.notebook.frames"))
