"""The web pages of a study for participants and researchers, rendered on the server.

`create_app` makes the ASGI application of a `StudyService`; other packages use nothing else. `forms` and `item_view`
prepare questions and items, independent of requests. `participant_pages`, `rating_pages` and `researcher_pages` hold
one function per page, `api` one per call. A new page is a function of a `Visit`, a template, and a line in `app`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.collect.web.app import create_app as create_app

__all__ = ["create_app"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, {"create_app": "vantage.collect.web.app"})
