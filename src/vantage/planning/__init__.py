"""Planning: how many items and raters a goal needs, before or during collection.

`model` simulates ratings, `pilot` estimates what a plan assumes from a corpus, `goals` says what a design reaches, by
closed forms or by simulation, and `plan` has the frontier, the choice under a budget and lines for a study file.
May import measures, corpora and adaptive. The next goal is a function in `goals`, listed there.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.planning.plan import Plan as Plan
    from vantage.planning.plan import during as during

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, dict.fromkeys(("Plan", "during"), "vantage.planning.plan"))
