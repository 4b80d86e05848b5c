"""Measures: pure functions from judgments to a small table, with `by=` for groups and intervals.

Every measure takes a corpus, a Polars frame or plain arrays (see `ratings`), and may import scales,
instruments and corpora, never raters, studies or reports. To add one: write the formula in
the module of its family, decorate the public function with `@measure`, list it in `HOMES`, and test it
against a published value, a brute-force definition and a peer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vantage._lazy import attach
from vantage.errors import InputError
from vantage.plugins import Plugins

if TYPE_CHECKING:
    from vantage.measures._signatures import *  # noqa: F403
    from vantage.measures.base import Measure

HOMES = {
    name: f"vantage.measures.{module}"
    for module, names in {
        "agreement.alpha": ["alpha"],
        "agreement.chance_corrected": ["fleiss", "randolph", "ac1"],
        "agreement.rater_pairs": ["cohen", "rater_matrix"],
        "agreement.pairwise": ["pairwise", "difference", "unanimity"],
        "agreement.intraclass": ["icc"],
        "agreement.recoded": ["opt_outs", "set_alpha"],
        "variance.split_half": ["split_half"],
        "variance.reliability": ["reliability"],
        "variance.rater_quality": ["rater_quality"],
        "aggregation.labels": ["aggregate", "soft_labels", "competence"],
        "variation.spread": ["entropy", "ambiguity", "split_items"],
        "variation.distances": ["distance"],
        "variation.refusals": ["refusals"],
        "scoring.accuracy": ["accuracy", "confusion"],
        "scoring.calibration": ["calibration"],
        "scoring.defensible": ["defensible"],
        "scoring.error_gaps": ["error_gaps"],
        "scoring.expectations": ["expectations"],
        "means.level": ["mean", "prevalence"],
        "relations.correlate": ["correlate"],
        "relations.ranks": ["ranks"],
        "relations.compare": ["compare"],
        "relations.groups": ["groups"],
        "comparisons.scores": ["scaling"],
        "audits.effects": ["audit"],
        "audits.balanced_gain": ["balanced_gain"],
        "models.explain": ["explain"],
        "models.facets": ["facets"],
        "models.dif": ["dif"],
        "models.regress": ["regress"],
        "scoring.replaceability": ["alt_test"],
        "panels.panel": ["panel"],
        "rationale.agreement": ["rationale_agreement", "rationale_similarity"],
        "rationale.form": ["rationale_form"],
        "targets.poststratify": ["population"],
        "targets.whose": ["whose_label"],
    }.items()
    for name in names
}
"""The public functions (`vantage.measures.agreement.alpha` …) and the modules in which they live, family by family.

`_signatures.pyi`, which type checkers read, is written from it by `make reference`.
"""

HELPERS = {
    name: f"vantage.measures.{module}"
    for module, names in {
        "aggregation.balanced": "balanced",
        "base": "Measure only_reason",
        "counts": "Counts",
        "intervals": "CORRELATIONS LIMITS SHARES Bounds Contrast Spread "
        "bootstrap_interval degrees_of_freedom speaks_of_raters student student_interval welch wilson",
        "kernel": "Answers spread_of",
        "kinds": "selected",
        "multiplicity": "adjusted permutation_p share_beyond",
        "option_text": "convert parse_options parse_words values_of",
        "parts": "Part linked_values",
        "presentation": "Against Column Extremes Fact View",
        "rater_variance": "several_items",
        "ratings": "UNIT Floats Ints ItemSources Judgments RaterGroups by_columns canonical drawn_raters "
        "has_column level_of questions_apart",
        "rationale.semantic": "BertScore Likeness",
        "rationale.topics": "topics",
        "relations.correlations": "coefficient midranks p_value pearson_of_sums weighted_correlation",
        "variance.variances": "VarianceDesign variance_draws",
        "resampling": "Resampling difference_with_interval item_codes mean_with_interval "
        "named per_item ratio several_with_intervals",
        "scoring.scores": "Metric Rules Scores",
        "texts.clusters": "Clusters Stability k_table kmeans "
        "mean_over_runs nearest_centroid rand_by_chance run_replicates",
        "texts.composites": "composites condition_agreement expected_values item_means run_spread scores_by_run",
        "texts.dictionary": "Dictionary",
        "texts.diversity": "text_diversity",
        "texts.phrases": "class_phrases similar_phrases",
    }.items()
    for name in names.split()
}
"""What other packages use beside measures: types, intervals, how results are shown, and tools for texts and panels."""

OTHER_NAMES = {
    **dict.fromkeys(("agreement", "krippendorff", "krippendorff-alpha"), "alpha"),
    **dict.fromkeys(("percent-agreement", "observed-agreement"), "pairwise"),
    **dict.fromkeys(("kappa", "cohen-kappa", "cohens-kappa"), "cohen"),
    **dict.fromkeys(("fleiss-kappa", "scott"), "fleiss"),
    **dict.fromkeys(("gwet", "gwet-ac1"), "ac1"),
    **dict.fromkeys(("intraclass", "intraclass-correlation"), "icc"),
    **dict.fromkeys(("majority", "majority-vote"), "aggregate with method=majority"),
    "dawid-skene": "aggregate with method=dawid-skene",
    "mace": "aggregate with method=mace",
    **dict.fromkeys(("f1", "precision", "recall"), "accuracy"),
    "confusion-matrix": "confusion",
    "ece": "calibration",
    **dict.fromkeys(("correlation", "pearson", "spearman"), "correlate"),
    **dict.fromkeys(("jsd", "jensen-shannon"), "distance"),
    "bradley-terry": "scaling",
    **dict.fromkeys(("rasch", "many-facet"), "facets"),
    **dict.fromkeys(("mrp", "poststratification"), "population"),
    "bands": "aggregate with per=band",
    "scaling-split-half": "scaling with show=reliability",
    **dict.fromkeys(("needed-raters", "d-study"), "reliability"),
    **dict.fromkeys(("components", "g-study"), "reliability with show=components"),
    "opposed-items": "split-items with between=questions",
}
"""Names that the field, or another version, has for a question, and what answers it here."""

__all__ = ["find", "registry", *HOMES]  # noqa: PLE0604


def registry() -> "dict[str, Measure]":
    """Every measure by its name on the command line, in the order of the families, then those of plugins."""
    return {**_loaded(), **PLUGINS.working()}


def find(name: str) -> "Measure":
    """The measure with this name: its own module is imported, and a plugin only where its own measure is asked for."""
    from vantage.measures.base import REGISTRY

    if (home := HOMES.get(name.replace("-", "_"))) is not None:
        import_module(home)
        if (measure := REGISTRY.get(name) or REGISTRY.get(name.replace("_", "-"))) is not None:
            return measure
    if (here := OTHER_NAMES.get(name.replace("_", "-"))) is not None and name not in REGISTRY:
        raise InputError(f"there is no measure '{name}'", remedy=f"{here} answers the same question")
    return _loaded().get(name) or PLUGINS.find(name)


def _loaded() -> "dict[str, Measure]":
    """The measures that are built in, and those that were defined in this process, such as in a notebook."""
    from vantage.measures.base import REGISTRY

    for module in dict.fromkeys(HOMES.values()):
        import_module(module)
    return REGISTRY


def _accepted(name: str, function: Any) -> "Measure":
    from vantage.measures.base import REGISTRY

    if name in REGISTRY and REGISTRY[name].function is function:
        return REGISTRY[name]
    raise TypeError(f"is not a function with @measure('{name}', …)")


def _built_in() -> list[str]:
    return [name for name, known in _loaded().items() if known.built_in]


PLUGINS: "Plugins[Measure]" = Plugins("measures", "measure", _built_in, _accepted)
"""Measures of other packages: functions with `@measure`."""

if not TYPE_CHECKING:
    # Type checkers would take any name for granted.
    __getattr__, __dir__ = attach(__name__, HOMES | HELPERS, other_names=OTHER_NAMES)
