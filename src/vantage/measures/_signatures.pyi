"""The signatures of the measures, for type checkers; written by `make reference`."""

from collections.abc import Mapping, Sequence
import polars as pl
from typing import Any, Literal, TypedDict, Unpack
from vantage.corpora import Target
from vantage.measures.aggregation.balanced import balanced as balanced
from vantage.measures.aggregation.labels import Method, Model, Ties
from vantage.measures.agreement.alpha import Distance
from vantage.measures.agreement.chance_corrected import Weights
from vantage.measures.agreement.rater_pairs import PairStatistic
from vantage.measures.agreement.recoded import Distance as RecodedDistance
from vantage.measures.base import Measure as Measure, only_reason as only_reason
from vantage.measures.comparisons.scores import Scoring
from vantage.measures.counts import Counts as Counts
from vantage.measures.intervals import Bounds as Bounds, CORRELATIONS as CORRELATIONS, Contrast as Contrast, IntervalOptions, LIMITS as LIMITS, Over, Resampled, SHARES as SHARES, Spread as Spread, WeightedIntervalOptions, Weighting, bootstrap_interval as bootstrap_interval, degrees_of_freedom as degrees_of_freedom, speaks_of_raters as speaks_of_raters, student as student, student_interval as student_interval, welch as welch, wilson as wilson
from vantage.measures.kernel import Answers as Answers, spread_of as spread_of
from vantage.measures.kinds import Kinds, selected as selected
from vantage.measures.models.explain import Family, Show
from vantage.measures.models.facets import Show as FacetsShow, Unconnected
from vantage.measures.models.regress import Family as RegressFamily
from vantage.measures.multiplicity import Correction, adjusted as adjusted, permutation_p as permutation_p, share_beyond as share_beyond
from vantage.measures.option_text import convert as convert, parse_options as parse_options, parse_words as parse_words, values_of as values_of
from vantage.measures.panels.panel import Show as PanelShow
from vantage.measures.parts import Part as Part, Rounding, linked_values as linked_values
from vantage.measures.presentation import Against as Against, Column as Column, Extremes as Extremes, Fact as Fact, View as View
from vantage.measures.rater_variance import several_items as several_items
from vantage.measures.ratings import By, Floats as Floats, Ints as Ints, ItemSources as ItemSources, Judgments as Judgments, RaterGroups as RaterGroups, UNIT as UNIT, by_columns as by_columns, canonical as canonical, drawn_raters as drawn_raters, has_column as has_column, level_of as level_of, questions_apart as questions_apart
from vantage.measures.rationale.agreement import Direction, Writer
from vantage.measures.rationale.overlap import Smoothing, Tokens
from vantage.measures.rationale.semantic import BertScore as BertScore, Likeness as Likeness, Score
from vantage.measures.rationale.topics import topics as topics
from vantage.measures.relations.correlations import Correlation as CorrelationsCorrelation, coefficient as coefficient, midranks as midranks, p_value as p_value, pearson_of_sums as pearson_of_sums, weighted_correlation as weighted_correlation
from vantage.measures.relations.groups import Over as GroupsOver
from vantage.measures.relations.ranks import Rank
from vantage.measures.resampling import Resampling as Resampling, difference_with_interval as difference_with_interval, item_codes as item_codes, mean_with_interval as mean_with_interval, named as named, per_item as per_item, ratio as ratio, several_with_intervals as several_with_intervals
from vantage.measures.scoring.references import Reference
from vantage.measures.scoring.replaceability import Alignment
from vantage.measures.scoring.scores import Metric as Metric, Missing, Rules as Rules, Scores as Scores
from vantage.measures.targets.poststratify import Per as PoststratifyPer
from vantage.measures.targets.whose import Per as WhosePer
from vantage.measures.texts.clusters import Clusters as Clusters, Stability as Stability, k_table as k_table, kmeans as kmeans, mean_over_runs as mean_over_runs, nearest_centroid as nearest_centroid, rand_by_chance as rand_by_chance, run_replicates as run_replicates
from vantage.measures.texts.composites import composites as composites, condition_agreement as condition_agreement, expected_values as expected_values, item_means as item_means, run_spread as run_spread, scores_by_run as scores_by_run
from vantage.measures.texts.dictionary import Dictionary as Dictionary
from vantage.measures.texts.diversity import text_diversity as text_diversity
from vantage.measures.texts.phrases import Encode, class_phrases as class_phrases, similar_phrases as similar_phrases
from vantage.measures.variance.rater_quality import Correlation as RaterQualityCorrelation
from vantage.measures.variance.split_half import Average, Correlation, Split
from vantage.measures.variance.variances import VarianceDesign as VarianceDesign, variance_draws as variance_draws
from vantage.measures.variation.distances import Distance as DistancesDistance
from vantage.measures.variation.spread import Base, Per
from vantage.scales import Level

class Whose(TypedDict, total=False):
    kinds: Kinds
    include_excluded: bool
    include_extra: bool
class Interval(IntervalOptions, Whose): ...
class WeightedInterval(WeightedIntervalOptions, Whose): ...
def alpha(
    data: Judgments,
    *,
    by: By = ...,
    level: Level | None = ...,
    distance: Distance | None = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def fleiss(
    data: Judgments,
    *,
    by: By = ...,
    agreement_weights: Weights | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def randolph(
    data: Judgments,
    *,
    by: By = ...,
    agreement_weights: Weights | None = ...,
    categories: Sequence[float] | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def ac1(
    data: Judgments,
    *,
    by: By = ...,
    agreement_weights: Weights | None = ...,
    categories: Sequence[float] | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def cohen(
    data: Judgments,
    *,
    by: By = ...,
    agreement_weights: Literal['linear', 'quadratic'] | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def rater_matrix(
    data: Judgments,
    *,
    by: By = ...,
    statistic: PairStatistic = ...,
    agreement_weights: Literal['linear', 'quadratic'] | None = ...,
    min_items: int = ...,
    ci: Literal['items', 'none'] = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def pairwise(
    data: Judgments,
    *,
    by: By = ...,
    coarse: bool | Literal['sign'] = ...,
    over: Literal['items', 'pairs'] = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def difference(
    data: Judgments,
    *,
    by: By = ...,
    sd: Literal['sample', 'population'] = ...,
    over: Literal['items', 'pairs'] = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def unanimity(
    data: Judgments,
    *,
    by: By = ...,
    coarse: bool | Literal['sign'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def icc(
    data: Judgments,
    *,
    by: By = ...,
    ci: Over = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def opt_outs(
    data: Judgments,
    *,
    by: By = ...,
    status: str | Sequence[str] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def set_alpha(
    data: Judgments,
    *,
    by: By = ...,
    distance: RecodedDistance = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def split_half(
    data: Judgments,
    *,
    by: By = ...,
    split: Split = ...,
    correlation: Correlation = ...,
    aggregate: Average = ...,
    spearman_brown: bool = ...,
    splits: int = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def reliability(
    data: Judgments,
    *,
    by: By = ...,
    show: Literal['means', 'components'] = ...,
    trait: By = ...,
    interaction: bool = ...,
    presentations: bool = ...,
    rater: str | Sequence[str] = ...,
    target: float = ...,
    up_to: int = ...,
    samples: int = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def rater_quality(
    data: Judgments,
    *,
    by: By = ...,
    correlation: RaterQualityCorrelation = ...,
    min_items: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def aggregate(
    data: Judgments,
    *,
    by: By = ...,
    method: Method = ...,
    ties: Ties = ...,
    rounding: Rounding = ...,
    coarse: bool = ...,
    neutral: float | None = ...,
    per: Literal['item', 'band'] = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def soft_labels(
    data: Judgments,
    *,
    by: By = ...,
    opt_outs: bool = ...,
    smoothing: float = ...,
    weights: Weighting = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def competence(
    data: Judgments,
    *,
    by: By = ...,
    method: Model = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def entropy(
    data: Judgments,
    *,
    by: By = ...,
    base: Base = ...,
    normalise: bool = ...,
    opt_outs: bool = ...,
    per: Per = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def ambiguity(
    data: Judgments,
    *,
    by: By = ...,
    per: Per = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def split_items(
    data: Judgments,
    *,
    by: By = ...,
    between: Literal['raters', 'questions'] = ...,
    share: float = ...,
    aggregate: Literal['mean', 'median', 'votes'] = ...,
    rounding: Rounding = ...,
    beyond: float = ...,
    neutral: float | None = ...,
    per: Per = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def distance(
    data: Judgments,
    *,
    by: By = ...,
    between: str,
    values: Sequence[object] | None = ...,
    metric: DistancesDistance | Sequence[DistancesDistance] = ...,
    base: Literal['nats', 'bits'] = ...,
    normalise: bool = ...,
    opt_outs: bool = ...,
    smoothing: float = ...,
    match: By = ...,
    per: Per = ...,
    relabellings: int = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def refusals(
    data: Judgments,
    *,
    by: By = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def accuracy(
    data: Judgments,
    *,
    by: By = ...,
    reference: Reference = ...,
    metric: str | Sequence[str] | None = ...,
    within: float = ...,
    missing: Missing = ...,
    opt_outs: Missing = ...,
    rounding: Rounding = ...,
    labels: Sequence[float] | None = ...,
    zero_division: float | None = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    match: By = ...,
    skill: bool = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def confusion(
    data: Judgments,
    *,
    by: By = ...,
    reference: Reference = ...,
    rounding: Rounding = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    match: By = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def calibration(
    data: Judgments,
    *,
    by: By = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    smoothing: float = ...,
    bins: int = ...,
    match: By = ...,
    per: Literal['score', 'bin'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def defensible(
    data: Judgments,
    *,
    per: Literal['score', 'answer'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def error_gaps(
    data: Judgments,
    *,
    by: By = ...,
    models: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    level: Level | None = ...,
    match: By = ...,
    traits: Sequence[str] | None = ...,
    per: Literal['group', 'item'] = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def expectations(
    data: Judgments,
    *,
    question: str | None = ...,
    others: str | None = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    per: Literal['score', 'item'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def mean(
    data: Judgments,
    *,
    by: By = ...,
    between: str | None = ...,
    values: Sequence[object] | None = ...,
    probability: str | None = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def prevalence(
    data: Judgments,
    *,
    by: By = ...,
    value: float | str | None = ...,
    between: str | None = ...,
    values: Sequence[object] | None = ...,
    probability: str | None = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[WeightedInterval],
) -> pl.DataFrame: ...
def correlate(
    data: Judgments,
    *,
    by: By = ...,
    outside: By = ...,
    order: Mapping[str, Sequence[str]] | None = ...,
    correlation: CorrelationsCorrelation = ...,
    aggregate: Literal['mean', 'median'] = ...,
    rounding: Rounding = ...,
    correction: Correction = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def ranks(
    data: Judgments,
    *,
    by: By = ...,
    between: str = ...,
    values: Sequence[object] | None = ...,
    system: str = ...,
    reference: Reference | None = ...,
    score: str = ...,
    within: float = ...,
    missing: Missing = ...,
    opt_outs: Missing = ...,
    correlation: Rank = ...,
    rounding: Rounding = ...,
    zero_division: float | None = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    match: By = ...,
    per: Literal['all', 'system', 'pair', 'resample'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def compare(
    data: Judgments,
    *,
    by: By = ...,
    between: str,
    values: Sequence[object] | None = ...,
    correction: Correction = ...,
    ci: GroupsOver = ...,
    sources: ItemSources | str | None = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def groups(
    data: Judgments,
    *,
    by: By = ...,
    traits: By = ...,
    given: By = ...,
    ci: GroupsOver = ...,
    sources: ItemSources | str | None = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def scaling(
    data: Judgments,
    *,
    by: By = ...,
    method: Scoring = ...,
    worst: str = ...,
    prior: float = ...,
    show: Literal['scores', 'reliability'] = ...,
    splits: int = ...,
    ci: Over = ...,
    resamples: int = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def audit(
    data: Judgments,
    *,
    rater: str | Sequence[str] = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def balanced_gain(
    data: Judgments,
    *,
    rater: str | Sequence[str] = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def explain(
    data: Judgments,
    *,
    by: By = ...,
    traits: By = ...,
    question: str | None = ...,
    family: Family = ...,
    interactions: By = ...,
    base: Mapping[str, str] | None = ...,
    show: Show = ...,
    permutations: int = ...,
    sources: ItemSources | str | None = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def facets(
    data: Judgments,
    *,
    by: By = ...,
    question: str | None = ...,
    thresholds: Literal['common', 'question', 'rater'] = ...,
    unconnected: Unconnected = ...,
    anchored: bool = ...,
    show: FacetsShow = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def dif(
    data: Judgments,
    *,
    by: By = ...,
    between: str,
    values: Sequence[Any] | None = ...,
    question: str | None = ...,
    correction: Correction = ...,
    show: Literal['items', 'invariance'] = ...,
    confidence: float = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def regress(
    data: Judgments,
    *,
    by: By = ...,
    on: By,
    question: str | None = ...,
    family: RegressFamily = ...,
    value: float | str | None = ...,
    probability: str | None = ...,
    ci: Over = ...,
    sources: ItemSources | str | None = ...,
    confidence: float = ...,
    seed: int = ...,
    powered_by: str | Sequence[str] | None = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def alt_test(
    data: Judgments,
    *,
    by: By = ...,
    missing: Missing = ...,
    models: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    alignment: Alignment | None = ...,
    level: Level | None = ...,
    epsilon: float = ...,
    min_items: int = ...,
    match: By = ...,
    traits: Sequence[str] | None = ...,
    per: Literal['model', 'person'] = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def panel(
    data: Judgments,
    *,
    by: By = ...,
    raters: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    show: PanelShow = ...,
    prices: Mapping[str, float] | None = ...,
    writer: str | None = ...,
    level: Level | None = ...,
    ci: Resampled = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def rationale_agreement(
    data: Judgments,
    *,
    by: By = ...,
    metric: str | Sequence[str] = ...,
    smoothing: Smoothing = ...,
    tokens: Tokens = ...,
    weights: Mapping[int, Sequence[float]] | None = ...,
    encode: Encode | None = ...,
    bertscore: Score | None = ...,
    direction: Direction = ...,
    draws: int = ...,
    writer: Writer = ...,
    with_itself: bool = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def rationale_similarity(
    data: Judgments,
    *,
    by: By = ...,
    metric: str | Sequence[str] = ...,
    models: Sequence[str] | None = ...,
    people: Sequence[str] | None = ...,
    smoothing: Smoothing = ...,
    tokens: Tokens = ...,
    weights: Mapping[int, Sequence[float]] | None = ...,
    encode: Encode | None = ...,
    bertscore: Score | None = ...,
    draws: int = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def rationale_form(
    data: Judgments,
    *,
    by: By = ...,
    properties: Sequence[str] = ...,
    source: str = ...,
    **shared: Unpack[Interval],
) -> pl.DataFrame: ...
def population(
    data: Judgments,
    *,
    by: By = ...,
    target: str | Target | Mapping[Any, Any],
    per: PoststratifyPer = ...,
    confidence: float = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
def whose_label(
    data: Judgments,
    *,
    by: By = ...,
    target: str | Target | Mapping[Any, Any] | None = ...,
    traits: By = ...,
    per: WhosePer = ...,
    permutations: int = ...,
    seed: int = ...,
    **shared: Unpack[Whose],
) -> pl.DataFrame: ...
