"""The address at which Prolific's webhooks arrive."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from starlette.responses import JSONResponse, Response

from vantage.collect.web.visit import LOG, Handler, Visit
from vantage.errors import VantageError
from vantage.recruit.on_prolific import ProlificRecruiter
from vantage.recruit.token import WEBHOOK_SECRET, prolific_client, secret
from vantage.recruit.webhooks import Forged, check_signature, receive


def hook(visit: Visit) -> Response:
    """A webhook of Prolific."""
    key = secret(WEBHOOK_SECRET)
    if key is None:
        return JSONResponse({"error": f"Webhooks are not set up; set {WEBHOOK_SECRET}."}, 503)
    headers = visit.request.headers
    try:
        check_signature(key, headers, visit.body)
        # Only a new draft asks for a forecast, and no event creates one.
        with closing(ProlificRecruiter(visit.site.service, prolific_client(), lambda: 0.0)) as one:
            known = receive(one, headers, visit.body)
    except Forged as forged:
        LOG.warning("a webhook was refused: %s", forged)
        return JSONResponse({"error": str(forged)}, 401)
    except VantageError as error:
        LOG.warning("a webhook could not be taken over: %s", error)
        return JSONResponse({"error": "Prolific cannot be asked now; please send the event again."}, 503)
    if not known:
        return JSONResponse({"error": "This is no submission of the study."}, 404)
    return JSONResponse({"received": True})


HOOKS: Final[Mapping[str, Mapping[str, Handler]]] = {"/hooks/prolific": {"POST": hook}}
