"""Does a conclusion survive other reasonable choices? The multiverse of a claim, planned before and checked after.

`conclusion` says what is claimed, `universe` which choices could have been made otherwise, `multiverse` computes every
specification with the measures as they are, `joint` tests them together, `risk` says how often model labels lead to a
wrong conclusion, `frozen` writes a plan with a hash, and `page` shows all of it. May import measures, planning and
report. The next choice that corpora offer by themselves is one more that `universe.default_universe` yields.
"""

from vantage.robust.conclusion import Conclusion
from vantage.robust.frozen import FrozenPlan
from vantage.robust.multiverse import Multiverse, robust
from vantage.robust.page import (
    curve,
    risk_sentences,
    robust_report,
    sentences,
    specification_at,
    with_plan,
    with_robust,
)
from vantage.robust.risk import Risks, risks
from vantage.robust.universe import Alternative, Universe, default_universe

__all__ = ["Alternative", "Conclusion", "FrozenPlan", "Multiverse", "Risks", "Universe", "curve", "default_universe",
           "risk_sentences", "risks", "robust", "robust_report", "sentences", "specification_at", "with_plan",
           "with_robust"]  # fmt: skip
