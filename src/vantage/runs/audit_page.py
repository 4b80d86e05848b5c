"""The page on which a person reads replies blind: one at a time, without JavaScript, on this machine only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from typing import Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from vantage.instruments import Question
from vantage.runs.audit import Case, accuracies, answers

_PAGE: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Audit of replies</title>
<meta name="viewport" content="width=device-width"><style>
body {{ font: 1.05rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap; background: #f4f4f4; color: #111; padding: 1rem; border-radius: .4rem }}
button {{ font: inherit; margin: .2rem; padding: .4rem .8rem }} table {{ border-collapse: collapse }}
td, th {{ text-align: left; padding: .2rem .8rem .2rem 0 }}
</style></head><body><main>{0}</main></body></html>"""

_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def page(cases: list[Case], questions: Mapping[str, Question], save: Callable[[], None], path: str = "/") -> Starlette:
    """An application that asks for the reading of every case and calls `save` after each; `cases` is filled in.

    A `path` that nobody can guess keeps other programs of this machine, and the forms of other sites, out.
    """

    async def show(request: Request) -> Response:
        open_ = [number for number, case in enumerate(cases) if not case.meant]
        if not open_:
            return HTMLResponse(_PAGE.format(_done(cases)), headers=_HEADERS)
        number = open_[0]
        case = cases[number]
        question = questions[case.question]
        buttons = "".join(
            f'<button name="meant" value="{escape(word)}">{escape(shown)}</button>' for word, shown in answers(question)
        )
        asked = escape(question.ask)
        body = (
            f"<p>{len(cases) - len(open_) + 1} of {len(cases)}</p><h1>What does this reply say?</h1>"
            f"<p><strong>{escape(question.title)}.</strong> {asked}</p><pre>{escape(case.reply)}</pre>"
            f'<form method="post"><input type="hidden" name="case" value="{number}">{buttons}</form>'
        )
        return HTMLResponse(_PAGE.format(body), headers=_HEADERS)

    async def answer(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        number, meant = form.get("case", ""), form.get("meant", "")
        if number.isdecimal() and int(number) < len(cases):
            case = cases[int(number)]
            if meant in dict(answers(questions[case.question])):
                cases[int(number)] = replace(case, meant=meant)
                save()
        return RedirectResponse(path, 303)

    return Starlette(routes=[Route(path, show), Route(path, answer, methods=["POST"])])


def _done(cases: list[Case]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.model)}</td><td>{one.right:.1%} ({one.low:.1%} to {one.high:.1%})</td>"
        f"<td>{one.audited}</td><td>{one.invented}</td></tr>"
        for one in accuracies(cases)
    )
    head = "<tr><th>model</th><th>read as meant</th><th>audited</th><th>invented</th></tr>"
    return f"<h1>All replies are read. Thank you.</h1><table>{head}{rows}</table><p>You can close this page.</p>"
