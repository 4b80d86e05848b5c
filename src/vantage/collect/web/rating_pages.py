"""The pages to rate items, back and forth until the participant submits the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Final

from starlette.responses import JSONResponse, Response

from vantage.collect import evidence
from vantage.collect.languages import sentence
from vantage.collect.submissions import page_of
from vantage.collect.views import InvalidAnswers, ItemPage, Participant, Refused
from vantage.collect.web import forms
from vantage.collect.web.item_view import panels, prose
from vantage.collect.web.participant_pages import keep_draft, path
from vantage.collect.web.signing import FormToken
from vantage.collect.web.visit import PageError, Redirect, Visit

LATE: Final = sentence("Your answer came too late, so it was not stored. Please continue with the next page.")
EXPIRED: Final = sentence("This page was open for too long, so nothing was saved. Please send it again.")


def item(visit: Visit) -> Response:
    """One item and its questions."""
    participant = visit.require_participant()
    page = _page(visit, participant)
    if page.left is not None and page.left < visit.site.study.plan.reserve_minutes * 30:
        # Without JavaScript, opening the page again is how people keep it.
        page = replace(page, left=visit.site.participants.save_draft(participant, "", {}))
    given = {name: values[-1] for name, values in page.draft.items()}
    token = _token(visit, participant, page)
    return _item(
        visit, page, given or forms.inputs(page.questions, page.earlier), {}, token, restored=any(given.values())
    )


def submit(visit: Visit) -> Response:
    """Stores the answers of a page; the next page follows only when they are durable."""
    participant = visit.require_participant()
    site, position = visit.site, visit.request.path_params["position"]
    given = {key: values[-1] for key, values in visit.form.items()}
    token = site.signer.check_form(visit.field("form_token"), participant.id)
    if token is None or token.page != f"item/{position}":
        page = _page(visit, participant)
        return _item(visit, page, given, {}, _token(visit, participant, page), EXPIRED)
    page_id, group = page_of(token.view)
    questions, _ = site.study.shown(group, participant.number, page_id)
    answers = forms.read(questions, given)
    try:
        counts = evidence.read(given.get("evidence", ""))
        done = site.participants.submit(
            participant, position, answers, token=token.view, seconds=token.seconds, evidence=counts
        )
    except InvalidAnswers as invalid:
        keep_draft(visit, participant, token)
        page, errors = _page(visit, participant), forms.errors(questions, invalid)
        return _item(visit, page, given, errors, _token(visit, participant, page, token))
    if done.late:
        raise PageError(409, sentence("The time for this page is over"), LATE)
    # The next page, also for participants who went back; after the last one, the review.
    further = done.step.kind == "item" and done.position < done.step.position
    return visit.redirect(f"/item/{done.position + 1}" if further else path(done.step))


def draft(visit: Visit) -> Response:
    """Keeps what was chosen and typed so far, and the reservation; says for how many seconds."""
    participant = visit.require_participant()
    token = visit.site.signer.check_form(visit.field("form_token"), participant.id)
    if token is None:
        return JSONResponse({"left": None}, 403)
    return JSONResponse({"left": keep_draft(visit, participant, token)})


def _page(visit: Visit, participant: Participant) -> ItemPage:
    """The page in the address, if the participant may see it now; otherwise a redirect to their current step."""
    try:
        return visit.site.participants.page(participant, visit.request.path_params["position"])
    except Refused:
        raise Redirect(path(visit.site.participants.step(participant))) from None


def _token(visit: Visit, participant: Participant, page: ItemPage, earlier: FormToken | None = None) -> str:
    """The form token of a page: which item it shows; the clock of an earlier view continues."""
    view, age = (earlier.view, earlier.seconds) if earlier else (page.token, 0.0)
    return visit.site.signer.sign_form(participant.id, f"item/{page.position}", view, age=age)


def _item(
    visit: Visit,
    page: ItemPage,
    given: Mapping[str, str],
    errors: Mapping[str, str],
    token: str,
    expired: str = "",
    *,
    restored: bool = False,
) -> Response:
    site, participant, say = visit.site, visit.require_participant(), visit.language.say
    block = visit.study.block(page.group)
    errors = {name: say(problem) for name, problem in errors.items()}
    asked = {name: page.questions[int(name[1:])] for name in errors}
    problems = [(name, (asked[name].whole or asked[name]).title, problem) for name, problem in errors.items()]
    if expired:
        problems.insert(0, ("main", say(sentence("Not saved")), say(expired)))
    return visit.render(
        "item.html",
        422 if problems else 200,
        heading="",
        position=page.position,
        pages=page.pages,
        answered=page.answered,
        panels=panels(block.instrument, page.record, page.condition),
        item_lang=site.item_lang(visit.language),
        instruction=page.instruction,
        sections=site.question_cache(visit.language).sections(
            page.questions, page.record, page.condition, given, errors, page.presentations, page.group
        ),
        guidelines=prose(visit.study.guidelines(block.instrument, block.presented(participant.number))),
        title=block.title,
        minutes_left=None if page.seconds_left is None else ceil(page.seconds_left / 60),
        problems=problems,
        restored=restored,
        left=page.left,
        share=page.share,
        draft=page_of(page.token)[0],
        form=token,
        evidence=site.study.plan.evidence,
    )
