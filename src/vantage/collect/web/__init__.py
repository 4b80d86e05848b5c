"""The pages of a study: what participants fill in and what the researcher sees, server-rendered.

`create_app` makes the ASGI application of a `Desk`; nothing else is meant for other rooms. `forms` and `exhibit`
draw questions and items and know of no request, `participant` and `researcher` hold one function per page, `api`
the same for programs. A new page is a function of a `Visit`, a template, and a line in `app`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.collect.web.app import create_app as create_app

__all__ = ["create_app"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, {"create_app": "vantage.collect.web.app"})
