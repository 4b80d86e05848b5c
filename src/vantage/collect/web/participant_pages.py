"""The participant's way in and out: consent, guidelines to read again, the end, withdrawal.

URLs are not trusted: each page looks up the participant's current step and redirects there.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from vantage.collect import drafts
from vantage.collect.entry import platform
from vantage.collect.languages import sentence
from vantage.collect.submissions import page_of
from vantage.collect.views import ENDS, CompletionPath, Participant, Step, StepKind
from vantage.collect.web.signing import COOKIE_LIFE, DAY, LANGUAGE_COOKIE, FormToken
from vantage.collect.web.visit import PageError, Redirect, Visit

VISITOR_COOKIE: Final = "vantage-visitor"


def path(step: Step) -> str:
    """The path of a step's page.

    >>> path(Step("item", position=3))
    '/item/3'
    """
    if step.kind == "item":
        return f"/item/{step.position}"
    return "/end" if step.kind in ENDS else f"/{step.kind}"


def require_step(visit: Visit, *kinds: StepKind) -> tuple[Participant, Step]:
    """The participant and their current step, which must be of one of these kinds."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind not in kinds:
        raise Redirect(path(step))
    return participant, step


def onward(visit: Visit, participant: Participant, step: Step) -> Response:
    """Leads to the next page; those who have just finished go back to their platform, where there is one."""
    if step.kind == "finished" and not step.more:
        address = visit.site.participants.completion(participant).redirect
        if address:
            return RedirectResponse(address, 303)
    return visit.redirect(path(step))


def same_page(visit: Visit, participant: Participant, place: str) -> FormToken:
    """Checks the form; one of an earlier page of the same kind, sent twice, only leads to the current page."""
    kind = place.partition("/")[0]
    token = visit.site.signer.check_form(visit.field("form_token"), participant.id)
    if token and token.page.startswith(f"{kind}/") and token.page != place:
        raise Redirect(f"/{kind}")
    return visit.check_form(participant.id, place)


def keep_draft(visit: Visit, participant: Participant, token: FormToken) -> float | None:
    """Keeps the form that was sent as a draft, and the reservation; the seconds until that expires."""
    item = token.page.startswith("item/")
    place, view = (drafts.item_place(page_of(token.view)[0]), token.view) if item else (token.page, "")
    fields = {name: values for name, values in visit.form.items() if name != "form_token"}
    return visit.site.participants.save_draft(participant, place, fields, token=view)


def start(visit: Visit) -> Response:
    """The study's address: known participants continue, everyone else reads the consent; nothing is stored yet."""
    site = visit.site
    first, more = platform(site.study.plan.recruitment)
    identifying = {"invitation", first, *more}
    params = {name: value for name, value in visit.request.query_params.items() if name in identifying}
    if own := visit.request.query_params.get("continue"):
        who = site.signer.check_link(own)
        participant = site.participants.find(who) if who else None
        if participant is None:
            raise PageError(404, sentence("This link leads nowhere"), sentence("Copy the complete link and try again."))
    elif not params and (known := visit.known_participant()):
        return visit.redirect(path(site.participants.step(known)))
    elif (participant := recognised(visit, params)) is None:
        return _visitor(visit, params)
    return visit.set_participant_cookie(visit.redirect(path(site.participants.step(participant))), participant)


def recognised(visit: Visit, params: Mapping[str, str]) -> Participant | None:
    """The participant whom a link names, if this browser may continue for them; null for somebody new."""
    people = visit.site.participants
    known = people.known(params)
    if known is None:
        return None
    participant, opens = known
    if opens or visit.known_participant() == participant:
        # Another session on the platform is one more submission of the same person.
        return people.enter(params)
    raise PageError(
        403,
        sentence("Please continue where you started"),
        sentence("Somebody with your platform id has started this study in another browser."),
        sentence("To protect the answers given there, the id alone does not open them."),
        sentence("Open the study in the browser that you started with, or use your link to continue later."),
        *([sentence("If you have neither, write to the address below.")] if visit.site.study.plan.contact else []),
    )


def _visitor(visit: Visit, params: Mapping[str, str]) -> Response:
    """The consent page for somebody new, who enters only by agreeing."""
    step = visit.site.participants.arrival()
    if step.kind != "consent":
        return _departure(visit, step)
    content = visit.site.signer.read_cookie(visit.request, VISITOR_COOKIE, max_age=DAY)
    who = str(content[0]) if content else secrets.token_urlsafe(12)
    response = _consent(visit, f"visitor:{who}")
    if not content or content[1] != params:
        visit.site.signer.write_cookie(response, visit.request, VISITOR_COOKIE, [who, params], max_age=DAY)
    return response


def _departure(visit: Visit, step: Step) -> Response:
    return _end(visit, step.kind, visit.site.participants.departure(step))


def _consent(visit: Visit, who: str, status: int = 200, problem: str = "") -> Response:
    html = _consent_page(visit, visit.site.signer.sign_form(who, f"consent/{_digest(wording(visit))}"), problem)
    return HTMLResponse(html, status)


def _consent_page(visit: Visit, form: str, problem: str = "") -> str:
    site = visit.site
    return site.render(
        "consent.html",
        visit.language,
        path=visit.path,
        heading=visit.language.say(site.study.title),
        consent=visit.study.consent or visit.language.say(sentence("If you agree to take part, please continue.")),
        warning=visit.study.warning,
        deletes=site.deletes,
        form=form,
        problem=problem,
        may_withdraw=False,
    )


def wording(visit: Visit) -> str:
    """The text of the consent page as this visitor sees it: what they agree to."""
    main = _consent_page(visit, "").partition("<main")[2].partition(">")[2].partition("</main>")[0]
    return Markup(main).striptags()  # noqa: S704 - our own page, without its tags


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def consent(visit: Visit) -> Response:
    """The consent page of a participant."""
    if visit.known_participant() is None and visit.site.study.plan.recruitment.via == "link":
        return visit.redirect("/")
    participant, _ = require_step(visit, "consent")
    return _consent(visit, participant.id)


def give_consent(visit: Visit) -> Response:
    """Agrees or declines; a visitor enters now, or leaves without a trace."""
    site = visit.site
    agreed, text = visit.field("agreed") == "yes", wording(visit)
    content = site.signer.read_cookie(visit.request, VISITOR_COOKIE, max_age=DAY)
    who = f"visitor:{content[0]}" if content else ""
    visitor = bool(who) and site.signer.check_form(visit.field("form_token"), who) is not None
    known = None if visitor else require_step(visit, "consent")[0]
    token = site.signer.check_form(visit.field("form_token"), known.id if known else who)
    if token and token.page.startswith("consent/") and token.page != f"consent/{_digest(text)}":
        changed = visit.language.say(sentence("This text has changed since you opened it."))
        return _consent(visit, known.id if known else who, 409, changed)
    token = visit.check_form(known.id if known else who, f"consent/{_digest(text)}")
    if known is None and not agreed:
        response = _departure(visit, Step("declined"))
        site.signer.clear_cookie(response, visit.request, VISITOR_COOKIE)
        return response
    if known is None:
        params = content[1] if content else {}
        known = recognised(visit, params)
        if known is None:
            site.verify(site.service, params)
            # The form's number makes a double click on "I agree" enter one participant, not two.
            known = site.participants.enter({**params, "form": token.view})
    step = site.participants.step(known)
    if step.kind == "consent":
        step = site.participants.give_consent(known, agreed=agreed, wording=text, language=visit.language.code)
    return visit.set_participant_cookie(visit.redirect(path(step)), known)


def guidelines(visit: Visit) -> Response:
    """The guidelines with worked examples, to confirm once and to read again at any time."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    guide = visit.site.participants.guide(participant)
    if guide is None:
        raise Redirect(path(step))
    reading = step.kind == "guidelines"
    return visit.render(
        "guidelines.html",
        heading=visit.language.say(sentence("Guidelines")),
        guide=visit.site.guide_of(guide, participant.number, visit.language),
        form=visit.site.signer.sign_form(participant.id, f"guidelines/{guide.number}") if reading else None,
        left=step.left if reading else None,
        share=step.share if reading else None,
        continue_link=f"{visit.address}?continue={visit.site.signer.sign_link(participant.id)}",
    )


def end(visit: Visit) -> Response:
    """The last page: why the study ends here, with the code or the link back to the platform."""
    participant, step = require_step(visit, *ENDS)
    kind = "deleted" if visit.site.deletes else "kept"
    kind = "lapsed" if step.lapsed else step.kind if step.kind != "withdrawn" else kind
    completion = CompletionPath() if step.kind == "paused" else visit.site.participants.completion(participant)
    return _end(
        visit,
        kind,
        completion,
        step.message,
        form=visit.site.signer.sign_form(participant.id, "more") if step.more else None,
        receipt=visit.site.participants.receipt(participant) if step.kind == "withdrawn" else None,
        may_withdraw=step.kind in ("finished", "paused"),
    )


def _end(visit: Visit, kind: str, completion: CompletionPath, message: str = "", **shown: Any) -> Response:
    return visit.render(
        "end.html",
        kind=kind,
        via=visit.site.study.plan.recruitment.via,
        message=message,
        code=completion.code,
        redirect=completion.redirect,
        **{"receipt": None, "form": None, "may_withdraw": False, **shown},
    )


def more(visit: Visit) -> Response:
    """Another batch for a participant who has finished one."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "more")
    step = visit.site.participants.step(participant)
    if step.kind == "finished" and step.more:
        step = visit.site.participants.another_batch(participant)
    return visit.redirect(path(step))


def choose_language(visit: Visit) -> Response:
    """Remembers the language of the pages and leads back to where it was chosen."""
    back = visit.request.query_params.get("to", "")
    response = visit.redirect(back if re.fullmatch(r"(/[a-z0-9]+)+", back) else "/")
    code = visit.request.path_params["code"]
    if code in visit.site.study.languages:
        place = visit.request.scope.get("root_path") or "/"
        response.set_cookie(LANGUAGE_COOKIE, code, max_age=COOKIE_LIFE, path=place, httponly=True, samesite="lax")
    return response


def withdraw(visit: Visit) -> Response:
    """Asks for confirmation before withdrawing."""
    participant = visit.require_participant()
    if visit.site.participants.step(participant).kind == "withdrawn":
        raise Redirect("/end")
    return visit.render(
        "withdraw.html",
        heading=visit.language.say(sentence("Stop and withdraw?")),
        deletes=visit.site.deletes,
        form=visit.site.signer.sign_form(participant.id, "withdraw"),
        may_withdraw=False,
    )


def confirm_withdrawal(visit: Visit) -> Response:
    """Withdraws."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "withdraw")
    return visit.redirect(path(visit.site.participants.withdraw(participant)))
