"""What a model that judges all items would save: prediction-powered inference for means (PPI++).

With n items judged by people and M more by the model alone, the best weight takes r² · M/(M + n) off the variance of
the items' means, where r is their correlation with the model's answers (Angelopoulos, Duchi and Zrnic 2023).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vantage.planning.pilot import Pilot
from vantage.planning.precision import StudyLayout, fewest_items, mean_variance, mean_width


def savings(pilot: Pilot, chosen: StudyLayout, model_items: int, confidence: float) -> list[dict[str, Any]]:
    """One row per model of the pilot: the items that give the chosen width with its help, and what they are worth.

    The people and the answers per item stay the same.
    """
    parts = pilot.components
    point = np.array([[parts.item, parts.rater, parts.residual]])
    rows = []
    for rater in pilot.others["rater"].unique().sort().to_list():
        explained = min(pilot.explained(rater), parts.item)
        aim = float(mean_width(point, chosen, confidence, share=parts.share)[0])

        def saved(layout: StudyLayout, explained: float = explained) -> float:
            return explained * model_items / (model_items + layout.items)

        def reached(layout: StudyLayout, aim: float = aim) -> bool:
            width = mean_width(point, layout, confidence, share=parts.share, saved=saved(layout))
            return float(width[0]) <= aim * (1 + 1e-9)

        enough = (
            fewest_items(reached, lambda items: StudyLayout(items, chosen.per_item, chosen.raters), chosen.items)
            or chosen
        )
        plain, with_model = (float(mean_variance(point, chosen, saved=one)[0][0]) for one in (0.0, saved(chosen)))
        rows.append(
            {
                "rater": rater,
                "explained": explained / parts.item if parts.item > 0 else 0.0,
                "items": enough.items,
                "answers": enough.answers,
                "saved": chosen.answers - enough.answers,
                "worth": chosen.answers * (plain / with_model - 1) if with_model > 0 else 0.0,
            }
        )
    return rows
