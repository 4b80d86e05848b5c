"""Perspective: whose judgment is predicted, for whom it works, and what traits have to do with it.

`split` parts a corpus by users and texts; `evaluate` scores predictions for ⟨text, user⟩ pairs globally and per user,
text and trait value. May import corpora and measures, never raters. The next view of an evaluation gets a module of
its own here.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.perspective.differences import advantage as advantage
    from vantage.perspective.differences import average_user as average_user
    from vantage.perspective.evaluation import Evaluation as Evaluation
    from vantage.perspective.evaluation import evaluate as evaluate
    from vantage.perspective.evaluation import stood_for as stood_for
    from vantage.perspective.fairness import against_majority as against_majority
    from vantage.perspective.fairness import below as below
    from vantage.perspective.fairness import gaps as gaps
    from vantage.perspective.fairness import minority_gap as minority_gap
    from vantage.perspective.juries import jury as jury
    from vantage.perspective.shared_tasks import shared_task as shared_task
    from vantage.perspective.splits import Split as Split
    from vantage.perspective.splits import split as split
    from vantage.perspective.stereotyping import exaggeration as exaggeration
    from vantage.perspective.stereotyping import explained as explained
    from vantage.perspective.traits import ablation as ablation
    from vantage.perspective.traits import alignment as alignment
    from vantage.perspective.traits import label_change as label_change
    from vantage.perspective.traits import vote as vote

_HOMES = {
    "Evaluation": "vantage.perspective.evaluation",
    "Split": "vantage.perspective.splits",
    "ablation": "vantage.perspective.traits",
    "advantage": "vantage.perspective.differences",
    "against_majority": "vantage.perspective.fairness",
    "alignment": "vantage.perspective.traits",
    "average_user": "vantage.perspective.differences",
    "below": "vantage.perspective.fairness",
    "evaluate": "vantage.perspective.evaluation",
    "exaggeration": "vantage.perspective.stereotyping",
    "explained": "vantage.perspective.stereotyping",
    "gaps": "vantage.perspective.fairness",
    "jury": "vantage.perspective.juries",
    "label_change": "vantage.perspective.traits",
    "minority_gap": "vantage.perspective.fairness",
    "shared_task": "vantage.perspective.shared_tasks",
    "split": "vantage.perspective.splits",
    "stood_for": "vantage.perspective.evaluation",
    "vote": "vantage.perspective.traits",
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
