"""What the draft prints about models, beside what its released answers give."""

from __future__ import annotations

from typing import Final

from vantage.report.published import Published
from vantage.studies.appraisals.analysis import Analysis
from vantage.studies.appraisals.coding import correlation, delta
from vantage.studies.appraisals.model_scores import kappas, mean_of

DRAFT: Final = {
    "chatgpt": ("2.061", "0.500", "0.124", "0.723"),
    "alpaca-7B": ("2.808", "0.287", "0.242", "0.724"),
    "dolly-v2-7B": ("3.857", "-0.102", "0.494", "0.019"),
    "flan-t5-xxl": ("3.342", "0.108", "0.352", "0.555"),
}
"""The draft's Table 3: mean absolute delta, Pearson, its p, and the kappa of NA, means of five runs."""
PREFIX: Final = 141
"""How many posts, from the first, the draft's Table 3 seems to rest on."""


def published_models(analysis: Analysis) -> list[Published]:
    """Table 3 on the first 141 posts, where it fits best, by the rule of the release."""
    rows: list[Published] = []
    gold = analysis.gold[:PREFIX]
    for model, (apart, r, p, kappa) in DRAFT.items():
        if model not in analysis.model_names or len(analysis.posts) < PREFIX:
            continue
        runs = [analysis.released(model, s)[:PREFIX] for s in analysis.samples(model)]
        found = [correlation(run, gold, "posts") for run in runs]
        ours = (
            mean_of([delta(run, gold) for run in runs]),
            mean_of([one.r for one in found]),
            mean_of([one.p for one in found]),
            mean_of([kappas(run, gold)[0] for run in runs]),
        )
        how = f"first {PREFIX} posts, first whole number, {len(runs)} of the five runs"
        names = ("mean absolute delta", "Pearson (per post)", "p of Pearson", '"NA" kappa (Randolph)')
        rows += [
            Published(f"{model}: {name}", "Table 3", printed, told, how)
            for name, printed, told in zip(names, (apart, r, p, kappa), ours, strict=True)
        ]
    for model, printed in (("alpaca-13B", "4.079"), ("dolly-v2-12B", "3.857")):
        if model not in analysis.model_names:
            why = "its answers are not in these data; the draft repeats another model's values in its row"
            rows.append(Published(f"{model}: mean absolute delta", "Table 3", printed, None, why))
    return rows
