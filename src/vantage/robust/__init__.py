"""Does a conclusion survive other reasonable choices? The multiverse of a claim, planned before and checked after.

`conclusion` says what is claimed, `universe` which choices could have been made otherwise, `multiverse` computes every
specification with the measures as they are, `joint` tests them together, `risk` says how often model labels lead to a
wrong conclusion, `frozen` writes a plan with a hash, and `page` shows all of it. May import measures, planning and
report. The next choice that corpora offer by themselves is a function in `offered`, listed in `OFFERED`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.robust.conclusion import Conclusion as Conclusion
    from vantage.robust.frozen import FrozenPlan as FrozenPlan
    from vantage.robust.multiverse import Multiverse as Multiverse
    from vantage.robust.multiverse import robust as robust
    from vantage.robust.offered import default_universe as default_universe
    from vantage.robust.page import curve as curve
    from vantage.robust.page import risk_frame as risk_frame
    from vantage.robust.page import risk_sentences as risk_sentences
    from vantage.robust.page import robust_report as robust_report
    from vantage.robust.page import sentences as sentences
    from vantage.robust.page import specification_at as specification_at
    from vantage.robust.page import with_plan as with_plan
    from vantage.robust.page import with_robust as with_robust
    from vantage.robust.risk import Risks as Risks
    from vantage.robust.risk import risks as risks
    from vantage.robust.universe import Alternative as Alternative
    from vantage.robust.universe import Universe as Universe

_PAGE = ("curve", "risk_frame", "risk_sentences", "robust_report", "sentences", "specification_at", "with_plan",
         "with_robust")  # fmt: skip
_HOMES = {
    **dict.fromkeys(("Alternative", "Universe"), "vantage.robust.universe"),
    **dict.fromkeys(("Multiverse", "robust"), "vantage.robust.multiverse"),
    **dict.fromkeys(("Risks", "risks"), "vantage.robust.risk"),
    **dict.fromkeys(_PAGE, "vantage.robust.page"),
    "default_universe": "vantage.robust.offered",
    "Conclusion": "vantage.robust.conclusion",
    "FrozenPlan": "vantage.robust.frozen",
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
