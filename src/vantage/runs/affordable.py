"""Whether a design fits `--max-cost`, and which smaller one would: half a design estimates nothing."""

from __future__ import annotations

from dataclasses import replace

from vantage.errors import InputError
from vantage.raters.design import Design
from vantage.runs.forecast import Forecast
from vantage.runs.options import RunOptions
from vantage.runs.plan import RunPlan
from vantage.runs.store import RunStore


def check_affordable(plan: RunPlan, store: RunStore, options: RunOptions) -> None:
    """Refuses a design that would cost more than the limit, and says what the limit pays for."""
    designs = [part for part in plan.parts if part.rater.design and part.rater.design.factors]
    if options.max_cost is None or not designs:
        return
    forecast = Forecast(options, store)
    forecast.add(plan)
    cost = forecast.total.cost
    if cost is None or cost <= options.max_cost:
        return
    first = designs[0]
    design, samples, items = first.rater.design, first.rater.samples, len(first.corpus.items)
    assert design is not None  # noqa: S101 - chosen by it
    raise InputError(
        f"the design asks every item in {design.size} presentations and costs about {cost:.4g}, more than "
        f"{options.max_cost:g} ({forecast.total.calls:,} calls)",
        remedy=affordable(design, samples, items, options.max_cost / cost),
    )


def affordable(design: Design, samples: int, items: int, share: float) -> str:
    """What a share of the cost of a design pays for: all items in a smaller design, or some items in this one.

    >>> design = Design(tuple((name, ("a", "b")) for name in ("order", "labels", "format")), "full")
    >>> affordable(design, 2, 30, 0.3)
    'it pays for all items with --vary order,labels --samples 1 (4 presentations), or for 9 items (--limit 9)'
    """
    offers = []
    for count in range(len(design.factors), 0, -1):
        smaller = replace(design, factors=design.factors[:count])
        fitting = [n for n in range(samples, 0, -1) if smaller.size * n <= share * design.size * samples]
        if fitting:
            names = ",".join(factor for factor, _ in smaller.factors)
            offers.append(f"all items with --vary {names} --samples {fitting[0]} ({smaller.size} presentations)")
            break
    some = int(items * share)
    if some:
        offers.append(f"{some:,} items (--limit {some})")
    return f"it pays for {', or for '.join(offers)}" if offers else "raise --max-cost, or vary fewer factors"
