"""Collect: studies in which people judge the items of a corpus, from the study file to the exported judgments.

`AnnotationStudy` is the study file; `StudyService` runs it: `service.participants` is what participants can do,
`service.researchers` what researchers can do, both over one `StudyDatabase`. The pages in `web/` call these services.
May import corpora, measures and what those import. Each module holds one idea: `entry` who comes in, `assignment` who
gets which item next, `answers` what may be answered, `submissions` how it is stored, `quality` how well raters do.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.collect.service import StudyService as StudyService
    from vantage.collect.study import AnnotationStudy as AnnotationStudy
    from vantage.collect.study_setup import opened_study as opened_study

_HOMES = {
    "StudyService": "vantage.collect.service",
    "AnnotationStudy": "vantage.collect.study",
    "opened_study": "vantage.collect.study_setup",
}

__all__ = ["AnnotationStudy", "StudyService", "opened_study"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
