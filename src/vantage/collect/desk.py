"""The desk: one study at work. What participants and the researcher can do, whatever page they do it on.

Every method may be called from any thread. What changes something returns only after the change is durable; what
is not possible raises `Refused` (a sentence for the person, with a kind that a page can turn into a status), and
answers that cannot be taken raise `Unanswered` (one sentence per question).
"""

from __future__ import annotations

from vantage.collect.office import Office
from vantage.collect.study import Study
from vantage.collect.views import (
    Arm,
    Completion,
    Invitation,
    ItemAnswers,
    ItemLine,
    ItemPage,
    Overview,
    Participant,
    Place,
    QuizResult,
    RaterRow,
    Refused,
    Reply,
    Spread,
    Submitted,
    Unanswered,
)
from vantage.collect.work import Work

__all__ = [
    "Arm",
    "Completion",
    "Desk",
    "Invitation",
    "ItemAnswers",
    "ItemLine",
    "ItemPage",
    "Overview",
    "Participant",
    "Place",
    "QuizResult",
    "RaterRow",
    "Refused",
    "Reply",
    "Spread",
    "Submitted",
    "Unanswered",
]


class Desk(Work, Office):
    """One study at work: `Work` and `Reception` hold what participants can do, `Office` what the researcher can.

    >>> import tempfile
    >>> from vantage import demo_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     desk = Desk.open(Study.of(demo_corpus().write(f"{folder}/demo"), "warmth-competence"))
    ...     ann = desk.arrive({})
    ...     places = [desk.place(ann).kind, desk.give_consent(ann, agreed=True).kind]
    ...     place = desk.read_guidelines(ann)
    ...     page = desk.page(ann, place.position)
    ...     done = desk.submit(ann, 1, {q.id: Reply(2.0) for q in page.questions}, token=page.token)
    ...     desk.close()
    >>> places, place.pages, done.place.position
    (['consent', 'guidelines'], 30, 2)
    """

    @classmethod
    def open(cls, study: Study, database: str | None = None) -> Desk:
        """Opens the study's database (or the one given), makes it where there is none, upgrades an older one."""
        return cls(study, database)
