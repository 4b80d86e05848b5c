"""Perspective: whose judgment is predicted, for whom it works, and what traits have to do with it.

`split` parts a corpus by users and texts; `evaluate` scores predictions for ⟨text, user⟩ pairs globally and per user,
text and trait value. May import corpora and measures, never raters. The next view of an evaluation gets a module of
its own here.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.perspective.evaluation import Evaluation as Evaluation
    from vantage.perspective.evaluation import evaluate as evaluate
    from vantage.perspective.evaluation import stood_for as stood_for
    from vantage.perspective.fairness import advantage as advantage
    from vantage.perspective.fairness import average_user as average_user
    from vantage.perspective.fairness import below as below
    from vantage.perspective.fairness import gaps as gaps
    from vantage.perspective.fairness import minority_gap as minority_gap
    from vantage.perspective.passports import passport as passport
    from vantage.perspective.scoring import shared_task as shared_task
    from vantage.perspective.splits import Split as Split
    from vantage.perspective.splits import split as split
    from vantage.perspective.traits import ablation as ablation
    from vantage.perspective.traits import alignment as alignment
    from vantage.perspective.traits import label_change as label_change
    from vantage.perspective.traits import vote as vote

_HOMES = {
    name: f"vantage.perspective.{module}"
    for module, names in {
        "evaluation": ("Evaluation", "evaluate", "stood_for"),
        "fairness": ("advantage", "average_user", "below", "gaps", "minority_gap"),
        "scoring": ("shared_task",),
        "splits": ("Split", "split"),
        "traits": ("ablation", "alignment", "label_change", "vote"),
        "passports": ("passport",),
    }.items()
    for name in names
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
