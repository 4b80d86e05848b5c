"""Does a conclusion survive other reasonable choices? The multiverse of a claim, planned before and checked after.

`conclusion` says what is claimed, `universe` which choices could have been made otherwise, `multiverse` computes every
specification with the measures as they are, `joint` tests them together, `risk` says how often model labels lead to a
wrong conclusion, `frozen` writes a plan with a hash, and `page` shows all of it. May import measures, planning and
report. The next choice that corpora offer by themselves is a function in `universe`, listed in `OFFERED`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.robust.conclusion import Conclusion as Conclusion
    from vantage.robust.frozen import FrozenPlan as FrozenPlan
    from vantage.robust.multiverse import Multiverse as Multiverse
    from vantage.robust.multiverse import robust as robust
    from vantage.robust.page import robust_report as robust_report
    from vantage.robust.page import with_plan as with_plan
    from vantage.robust.page import with_robust as with_robust
    from vantage.robust.risk import Risks as Risks
    from vantage.robust.risk import risks as risks
    from vantage.robust.universe import Alternative as Alternative
    from vantage.robust.universe import Decision as Decision
    from vantage.robust.universe import Universe as Universe

_HOMES = {
    "Alternative": "vantage.robust.universe",
    "Conclusion": "vantage.robust.conclusion",
    "Decision": "vantage.robust.universe",
    "FrozenPlan": "vantage.robust.frozen",
    "Multiverse": "vantage.robust.multiverse",
    "Risks": "vantage.robust.risk",
    "Universe": "vantage.robust.universe",
    "risks": "vantage.robust.risk",
    "robust": "vantage.robust.multiverse",
    "robust_report": "vantage.robust.page",
    "with_plan": "vantage.robust.page",
    "with_robust": "vantage.robust.page",
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
