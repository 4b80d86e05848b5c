"""The participant's pages before and after rating: consent, traits, guidelines, quiz and end.

URLs are not trusted: each page looks up the participant's current step and redirects there.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Final

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from vantage.collect.entry import PLATFORMS
from vantage.collect.views import InvalidAnswers, Participant, QuizResult, Step, StepKind
from vantage.collect.web.signing import DAY
from vantage.collect.web.visit import PageError, Redirect, Visit, whole_number

VISITOR_COOKIE: Final = "vantage-visitor"
ENTRY: Final = frozenset(["invitation", *(name for first, more in PLATFORMS.values() for name in (first, *more))])
"""The parameters of a link that say who somebody is."""
IN_PROGRESS: Final[tuple[StepKind, ...]] = ("consent", "traits", "guidelines", "quiz", "item", "review")
ENDS: Final[Mapping[StepKind, tuple[str, tuple[str, ...]]]] = {
    "finished": ("Thank you", ("Your answers have been submitted.",)),
    "declined": ("You are not taking part", ("You did not agree, so we asked nothing and stored nothing.",)),
    "screened_out": (
        "Thank you for your time",
        ("You did not meet the study's requirements, such as its quiz, so the study ends here for you.",),
    ),
    "full": (
        "There is no work left",
        ("All items have been assigned to other participants. Thank you for your interest.",),
    ),
    "paused": (
        "The study is paused",
        ("Your answers so far are saved. Come back later with the same link to continue.",),
    ),
}


def path(step: Step) -> str:
    """The path of a step's page.

    >>> path(Step("item", position=3))
    '/item/3'
    """
    if step.kind == "item":
        return f"/item/{step.position}"
    return f"/{step.kind}" if step.kind in IN_PROGRESS else "/end"


def require_step(visit: Visit, kind: StepKind) -> tuple[Participant, Step]:
    """The participant and their current step, which must be of this kind."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind != kind:
        raise Redirect(path(step))
    return participant, step


def start(visit: Visit) -> Response:
    """The study's address: known participants continue, everyone else reads the consent; nothing is stored yet."""
    site = visit.site
    params = {name: value for name, value in visit.request.query_params.items() if name in ENTRY}
    if own := visit.request.query_params.get("continue"):
        who = site.signer.check_link(own)
        participant = site.participants.find(who) if who else None
        if participant is None:
            raise PageError(404, "This link leads nowhere", "Copy the complete link and try again.")
        return visit.set_participant_cookie(visit.redirect(path(site.participants.step(participant))), participant)
    if not params and (known := visit.known_participant()):
        return visit.redirect(path(site.participants.step(known)))
    participant = recognised(visit, params)
    if participant is None:
        return _visitor(visit, params)
    return visit.set_participant_cookie(visit.redirect(path(site.participants.step(participant))), participant)


def recognised(visit: Visit, params: Mapping[str, str]) -> Participant | None:
    """The participant whom a link names, if this browser may continue for them; null for somebody new."""
    people = visit.site.participants
    known = people.known(params)
    if known is None:
        return None
    if known.open or visit.known_participant() == known.participant:
        # Another session on the platform is one more submission of the same person.
        return people.enter(params)
    raise PageError(
        403,
        "Please continue where you started",
        "Somebody with your platform id has started this study in another browser. To protect the answers given there, "
        "the id alone does not open them.",
        "Open the study in the browser that you started with, or use the link “continue later” that you were shown.",
        *([f"If you have neither, write to {visit.site.study.plan.contact}."] if visit.site.study.plan.contact else []),
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
    """The end for somebody of whom nothing is stored."""
    heading, sentences = ENDS[step.kind]
    completion = visit.site.participants.departure(step)
    return visit.render(
        "end.html",
        heading=heading,
        sentences=sentences,
        code=completion.code,
        redirect=completion.redirect,
        leave=_leave(visit),
        form=None,
        receipt=None,
        may_withdraw=False,
    )


def _leave(visit: Visit) -> str:
    return "Return to Prolific" if visit.site.study.plan.recruitment.via == "prolific" else "Leave the study"


def _consent(visit: Visit, who: str, status: int = 200, problem: str = "") -> Response:
    html = _consent_page(visit, visit.site.signer.sign_form(who, f"consent/{_digest(wording(visit))}"), problem)
    return HTMLResponse(html, status)


def _consent_page(visit: Visit, form: str, problem: str = "") -> str:
    site = visit.site
    return site.render(
        "consent.html",
        heading=site.study.title,
        consent=site.study.consent or "If you agree to take part, please continue.",
        warning=site.study.warning,
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
        return _consent(visit, known.id if known else who, 409, "This text has changed since you opened it.")
    token = visit.check_form(known.id if known else who, f"consent/{_digest(text)}")
    if known is None and not agreed:
        response = _departure(visit, Step("declined"))
        site.signer.clear_cookie(response, visit.request, VISITOR_COOKIE)
        return response
    if known is None:
        params = content[1] if content else {}
        # The form's number makes a double click on "I agree" enter one participant, not two.
        known = recognised(visit, params) or site.participants.enter({**params, "form": token.view})
    step = site.participants.step(known)
    if step.kind == "consent":
        step = site.participants.give_consent(known, agreed=agreed, wording=text)
    return visit.set_participant_cookie(visit.redirect(path(step)), known)


def traits(visit: Visit) -> Response:
    """Questions about the participant."""
    participant, _ = require_step(visit, "traits")
    return _traits(visit, participant, {})


def _traits(visit: Visit, participant: Participant, problems: Mapping[str, str]) -> Response:
    traits = visit.site.study.plan.traits
    return visit.render(
        "traits.html",
        422 if problems else 200,
        heading="About you",
        traits=traits,
        optional=not all(trait.required for trait in traits),
        given=visit.form,
        errors=problems,
        problems=[(f"t{n}", trait.ask, problems[trait.id]) for n, trait in enumerate(traits) if trait.id in problems],
        form=visit.site.signer.sign_form(participant.id, "traits"),
    )


def give_traits(visit: Visit) -> Response:
    """The answers about the participant."""
    participant, _ = require_step(visit, "traits")
    visit.check_form(participant.id, "traits")
    answers = {
        trait.id: visit.form.get(f"t{index}", []) if trait.kind == "several" else visit.field(f"t{index}")
        for index, trait in enumerate(visit.site.study.plan.traits)
    }
    try:
        step = visit.site.participants.give_traits(participant, answers)
    except InvalidAnswers as invalid:
        return _traits(visit, participant, invalid.problems)
    return visit.redirect(path(step))


def guidelines(visit: Visit) -> Response:
    """The guidelines with worked examples, to confirm once and to read again at any time."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind in ("consent", "traits"):
        raise Redirect(path(step))
    study = visit.site.study
    every = tuple(question for group in study.question_sets for question in group)
    return visit.render(
        "guidelines.html",
        heading="Guidelines",
        guide=visit.site.guide(study.conditions, every, study.presentation(participant.number)),
        form=visit.site.signer.sign_form(participant.id, "guidelines") if step.kind == "guidelines" else None,
        continue_link=continue_link(visit, participant),
    )


def continue_link(visit: Visit, participant: Participant) -> str:
    """The participant's own link, with which they can continue in another browser."""
    url = visit.request.url
    return f"{url.scheme}://{url.netloc}{visit.site.prefix}/?continue={visit.site.signer.sign_link(participant.id)}"


def confirm_guidelines(visit: Visit) -> Response:
    """Confirms having read the guidelines."""
    participant, _ = require_step(visit, "guidelines")
    visit.check_form(participant.id, "guidelines")
    return visit.redirect(path(visit.site.participants.confirm_guidelines(participant)))


def quiz(visit: Visit) -> Response:
    """The comprehension quiz."""
    participant, step = require_step(visit, "quiz")
    return _quiz(visit, participant, step.attempts_left, None)


def _quiz(visit: Visit, participant: Participant, attempts_left: int, result: QuizResult | None) -> Response:
    plan = visit.site.study.plan.quiz
    assert plan is not None  # noqa: S101
    errors = {f"k{n}": plan.questions[n].explain or "This is not right." for n in (result.wrong if result else ())}
    return visit.render(
        "quiz.html",
        422 if errors else 200,
        heading="A few questions about the guidelines",
        questions=plan.questions,
        attempts_left=attempts_left,
        given=visit.form,
        errors=errors,
        problems=[(name, plan.questions[int(name[1:])].ask, problem) for name, problem in errors.items()],
        # The number of attempts in the token tells a form that was sent twice from a second attempt.
        form=visit.site.signer.sign_form(participant.id, f"quiz/{attempts_left}"),
    )


def answer_quiz(visit: Visit) -> Response:
    """An attempt at the quiz."""
    participant, step = require_step(visit, "quiz")
    token = visit.site.signer.check_form(visit.field("form_token"), participant.id)
    if token and token.page.startswith("quiz/") and token.page != f"quiz/{step.attempts_left}":
        raise Redirect("/quiz")
    visit.check_form(participant.id, f"quiz/{step.attempts_left}")
    plan = visit.site.study.plan.quiz
    assert plan is not None  # noqa: S101
    given = [whole_number(visit.field(f"k{index}")) for index in range(len(plan.questions))]
    result = visit.site.participants.answer_quiz(participant, given)
    if result.passed or not result.attempts_left:
        return visit.redirect(path(visit.site.participants.step(participant)))
    return _quiz(visit, participant, result.attempts_left, result)


def end(visit: Visit) -> Response:
    """The last page: why the study ends here, with the code or the link back to the platform."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind in IN_PROGRESS:
        raise Redirect(path(step))
    outcome = "Your answers have been deleted." if visit.site.deletes else "Your answers are kept without your name."
    heading, sentences = ENDS.get(step.kind, ("You have withdrawn", (outcome,)))
    completion = None if step.kind == "paused" else visit.site.participants.completion(participant)
    return visit.render(
        "end.html",
        heading=heading,
        sentences=sentences,
        code=completion.code if completion else None,
        redirect=completion.redirect if completion else None,
        leave=_leave(visit),
        receipt=visit.site.participants.receipt(participant) if step.kind == "withdrawn" else None,
        form=visit.site.signer.sign_form(participant.id, "more") if step.more else None,
        may_withdraw=step.kind in ("finished", "paused"),
    )


def more(visit: Visit) -> Response:
    """Another batch for a participant who has finished one."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "more")
    step = visit.site.participants.step(participant)
    if step.kind == "finished" and step.more:
        step = visit.site.participants.another_batch(participant)
    return visit.redirect(path(step))


def withdraw(visit: Visit) -> Response:
    """Asks for confirmation before withdrawing."""
    participant = visit.require_participant()
    if visit.site.participants.step(participant).kind == "withdrawn":
        raise Redirect("/end")
    form = visit.site.signer.sign_form(participant.id, "withdraw")
    return visit.render("withdraw.html", heading="Stop and withdraw?", deletes=visit.site.deletes, form=form)


def confirm_withdrawal(visit: Visit) -> Response:
    """Withdraws."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "withdraw")
    return visit.redirect(path(visit.site.participants.withdraw(participant)))
