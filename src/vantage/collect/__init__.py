"""Collect: a study in which people judge the items of a corpus, from the study file to the exported judgments.

`Study` is the study file, `Desk` the study at work: whatever participants and researchers can do. The pages in
`web/` draw what the desk hands out. May import corpora, measures and what stands to their left. Each module here
holds one idea: `seats` which item comes next, `assignment` who gets it, `answers` what was said, `quality` how well.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.collect.desk import Desk as Desk
    from vantage.collect.study import Study as Study

_HOMES = {"Desk": "vantage.collect.desk", "Study": "vantage.collect.study"}

__all__ = ["Desk", "Study"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
