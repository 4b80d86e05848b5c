"""A running study: what participants and researchers can do, independent of any web page.

Every method may be called from any thread. A method that changes something returns only after the change is durable.
Requests that cannot be granted raise `Refused` (a sentence for the person, and a kind that a page turns into an HTTP
status); answers that cannot be stored raise `InvalidAnswers` (one sentence per question).
"""

from __future__ import annotations

from copy import copy

from vantage.collect.database import StudyDatabase
from vantage.collect.participants import ParticipantService
from vantage.collect.researchers import ResearcherService
from vantage.collect.study import AnnotationStudy


class StudyService:
    """One running study over its database (or the one given), which is created or upgraded where needed.

    A study that has started is run from its database, as it was then. With `read_only` nothing is created or changed.
    `revision` is a note on edits of the study that are to hold from now on.
    Without `apart`, what is private is kept in the same file, which suits one that is thrown away.

    >>> import tempfile
    >>> from vantage import demo_corpus
    >>> from vantage.collect.views import QuestionAnswer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = AnnotationStudy.of(demo_corpus().write(f"{folder}/demo"), "warmth-competence")
    ...     service = StudyService(study)
    ...     people = service.participants
    ...     ann = people.enter({})
    ...     kinds = [people.step(ann).kind, people.give_consent(ann, agreed=True).kind]
    ...     step = people.confirm(ann)
    ...     page = people.page(ann, step.position)
    ...     done = people.submit(ann, 1, {q.id: QuestionAnswer(2.0) for q in page.questions}, token=page.token)
    ...     service.close()
    >>> kinds, step.pages, done.step.position
    (['consent', 'guidelines'], 30, 2)
    """

    def __init__(
        self,
        study: AnnotationStudy,
        database: str | None = None,
        *,
        read_only: bool = False,
        revision: str | None = None,
        apart: bool = True,
    ) -> None:
        self.database = StudyDatabase(study, database, read_only=read_only, revision=revision, apart=apart)
        self.study = self.database.study
        self.participants = ParticipantService(self.database)
        self.researchers = ResearcherService(self.database)

    def acting(self, researcher: str) -> StudyService:
        """The same study, in which a researcher acts by name."""
        other = copy(self)
        other.researchers = self.researchers.acting(researcher)
        return other

    def close(self) -> None:
        """Completes pending changes and closes the database."""
        self.database.close()
