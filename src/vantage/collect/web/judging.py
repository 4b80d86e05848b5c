"""The participant's work: one page per item, to and fro, until everything is handed in."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import RedirectResponse, Response

from vantage.collect.views import ItemPage, Participant, Place, Refused, Unanswered
from vantage.collect.web import forms
from vantage.collect.web.exhibit import panels
from vantage.collect.web.participant import at, path
from vantage.collect.web.prose import prose
from vantage.collect.web.seals import Seal
from vantage.collect.web.visit import Elsewhere, Visit


def item(visit: Visit) -> Response:
    """One item and its questions."""
    participant = visit.someone()
    page = _opened(visit, participant)
    return _item(visit, page, forms.inputs(page.questions, page.earlier), {}, _sealed(visit, participant, page))


def _opened(visit: Visit, participant: Participant) -> ItemPage:
    """The page that the address names, if the participant may see it now; otherwise they go where they belong."""
    try:
        return visit.site.desk.page(participant, visit.request.path_params["position"])
    except Refused:
        raise Elsewhere(path(visit.site.desk.place(participant))) from None


def _sealed(visit: Visit, participant: Participant, page: ItemPage, earlier: Seal | None = None) -> str:
    """The seal of a page: which item, with which set of questions; the clock of an earlier view runs on.

    The set stands in it so that answers can be read without asking the database what the page looked like.
    """
    group = visit.site.study.question_sets.index(tuple(question.id for question in page.questions))
    view, age = (earlier.view, earlier.seconds) if earlier else (page.token, 0.0)
    return visit.site.seals.seal(participant.id, f"item/{page.position}/{group}", view, age=age)


def _item(
    visit: Visit, page: ItemPage, given: Mapping[str, str], errors: Mapping[str, str], seal: str, stale: str = ""
) -> Response:
    site = visit.site
    instrument = site.study.instrument
    questions = dict(enumerate(page.questions))
    problems = [(name, questions[int(name[1:])].title, problem) for name, problem in errors.items()]
    if stale:
        problems.insert(0, ("main", "This page", stale))
    return visit.page(
        "item.html",
        422 if problems else 200,
        heading="",
        position=page.position,
        pages=page.pages,
        answered=page.answered,
        panels=panels(instrument, page.record, page.condition),
        item_lang=site.item_lang,
        instruction=page.instruction,
        sections=site.draughts.sections(page.questions, page.record, page.condition, given, errors),
        guidelines=prose(site.study.guidelines),
        problems=problems,
        form=seal,
    )


def submit(visit: Visit) -> Response:
    """The answers of a page; the next one follows only when they are durable."""
    participant = visit.someone()
    site, position = visit.site, visit.request.path_params["position"]
    given = {key: values[-1] for key, values in visit.form.items()}
    seal = site.seals.check(visit.one("seal"), participant.id)
    name, _, group = seal.page.rpartition("/") if seal else ("", "", "")
    if seal is None or name != f"item/{position}":
        page = _opened(visit, participant)
        stale = "it had been open for too long, and nothing was saved. Please send it once more."
        return _item(visit, page, given, {}, _sealed(visit, participant, page), stale)
    questions = site.questions[int(group)]
    replies, errors = forms.read(questions, given)
    if not errors:
        try:
            done = site.desk.submit(participant, position, replies, token=seal.view, seconds=seal.seconds)
        except Unanswered as unanswered:
            told = unanswered.problems
            errors = {f"a{index}": told[question.id] for index, question in enumerate(questions) if question.id in told}
        else:
            return visit.go(_onward(done.position, done.place))
    page = _opened(visit, participant)
    return _item(visit, page, given, errors, _sealed(visit, participant, page, seal))


def _onward(position: int, place: Place) -> str:
    """After a page comes the next one, also for somebody who went back; after the last, the overview."""
    if place.kind == "item" and position < place.position:
        return f"/item/{position + 1}"
    return path(place)


def review(visit: Visit) -> Response:
    """All pages are answered and may still be changed."""
    participant, place = at(visit, "review")
    form = visit.site.seals.seal(participant.id, "review")
    return visit.page("review.html", heading="Before you hand in", pages=place.pages, form=form)


def hand_in(visit: Visit) -> Response:
    """Hands the answers in and leads back to the platform, where there is one."""
    participant = visit.someone()
    visit.sealed(participant.id, "review")
    completion = visit.site.desk.finish(participant)
    if completion.redirect:
        return RedirectResponse(completion.redirect, 303)
    return visit.go("/end")
