"""Measures: pure functions from judgments to a small table, with `by=` for groups and intervals.

Every measure takes a corpus, a Polars frame or plain arrays (see `ratings`), and may import scales,
instruments and corpora, never raters, studies or reports. To add one: write the formula on a `Ratings`
in the module of its family, decorate the public function with `@measure`, list it in `HOMES`, and test it
against a published value, a brute-force definition and a peer.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vantage.measures.base import Measure

HOMES = {
    name: f"vantage.measures.{module}"
    for module, names in {
        "alpha": ["alpha"],
        "chance_corrected": ["fleiss", "randolph", "ac1"],
        "rater_pairs": ["cohen", "scott", "rater_matrix"],
        "pairwise": ["pairwise", "difference"],
        "unanimity": ["unanimity"],
        "intraclass": ["icc"],
        "opt_outs": ["opt_outs"],
        "split_half": ["split_half"],
        "needed_raters": ["needed_raters"],
        "d_study": ["d_study"],
        "rater_quality": ["raters"],
        "aggregation": ["aggregate", "bands", "soft_labels", "competence"],
        "variation": ["entropy", "ambiguity", "split_items", "opposed_items"],
        "distances": ["distance"],
        "refusals": ["refusals"],
        "accuracy": ["accuracy", "confusion"],
        "calibration": ["calibration"],
        "correlate": ["correlate"],
        "ranks": ["ranks"],
        "compare": ["compare"],
        "components": ["components"],
        "replaceability": ["alt_test"],
        "rationale.agreement": ["rationale_agreement", "rationale_similarity"],
        "rationale.form": ["rationale_form"],
    }.items()
    for name in names
}
"""The public functions (`vantage.alpha` …) and the modules in which they live, family by family."""


def registry() -> "dict[str, Measure]":
    """Every measure by its name on the command line, in the order of the families."""
    from vantage.measures.base import REGISTRY

    for module in dict.fromkeys(HOMES.values()):
        import_module(module)
    return REGISTRY
