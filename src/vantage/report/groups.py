"""Who judges differently: groups of people by their traits, compared and explained."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.multiplicity import COARSE
from vantage.measures.relations.compare import compare
from vantage.report.beside import CorpusAnalysis
from vantage.report.cases import answered, label
from vantage.report.engine import Data, there
from vantage.report.ruler import trait_effects
from vantage.scales import Scale

GROUPS: Final = range(2, 9)
"""How many values a trait may have to be compared; one with more numbers is halved at its median."""
FEWEST: Final = 5
"""How many raters a group needs to be compared."""
PERMUTATIONS: Final = 2000
"""Of raters, in the comparison of groups."""


def traits(analysis: CorpusAnalysis) -> Data | list[str]:
    """For each trait the two groups of people that differ most clearly, tested over people.

    A person is one unit. Questions on ordered scales are compared by their answers, others by how often each option was
    chosen. The p value is that of the strongest comparison times the number of comparisons of the trait.
    """
    compared = [(analysis.ordered, {}), _chosen(there(analysis.several))]
    rows, untested = [], []
    for trait in analysis.traits:
        tested = [
            comparisons.with_columns(pl.col("question").replace(options).alias("named"))
            for corpus, options in compared
            if corpus is not None and (comparisons := _by_trait(corpus, trait, analysis.seed)) is not None
        ]
        name = trait.replace("_", " ")
        if tested:
            rows.append(_strongest(analysis, name, pl.concat(tested, how="diagonal_relaxed")))
        else:
            untested.append(name)
    note = f"Not compared, since two to eight groups of five people who share items are needed: {', '.join(untested)}."
    if not rows:
        return [note] if untested else []
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"untested": note if untested else None})


def explained(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """What each trait explains, given the others and who judged what: one row per trait and question."""
    corpus, kept = there(analysis.ordered), list[str]()
    for trait in analysis.traits:
        grouped = grouped_by(corpus, trait)
        if grouped is not None:
            corpus, kept = grouped, [*kept, trait]
    frames = [
        effects.with_columns(question=pl.lit(question.id))
        for question in corpus.questions
        if (effects := trait_effects(corpus, kept, question.id, seed=analysis.seed)) is not None
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else None


def grouped_by(corpus: Corpus, trait: str, fewest: int = FEWEST) -> Corpus | None:
    """The corpus with a trait in a few groups of enough people; null where it has fewer than two such groups."""
    column = corpus.raters[trait]
    if column.dtype.is_numeric() and column.n_unique() > max(GROUPS):
        middle = float(column.median())  # type: ignore[arg-type]
        halves = pl.when(pl.col(trait) <= middle).then(pl.lit(f"{middle:g} or less")).when(pl.col(trait).is_not_null())
        raters = corpus.raters.with_columns(halves.then(pl.lit(f"more than {middle:g}")).alias(trait))
    else:
        raters = corpus.raters.with_columns(pl.col(trait).cast(pl.String))
    large = raters[trait].drop_nulls().value_counts().filter(pl.col("count") >= fewest)[trait]
    if len(large) not in GROUPS:
        return None
    kept = pl.when(pl.col(trait).is_in(large.implode())).then(pl.col(trait))
    return Corpus(corpus.items, raters.with_columns(kept.alias(trait)), corpus.judgments, corpus.instruments)


def _chosen(corpus: Corpus) -> tuple[Corpus | None, dict[str, str]]:
    """Questions without an order as one question per option, with 1 where it was chosen, and what these are called.

    Of two options one is enough.
    """
    parts: list[pl.DataFrame] = []
    scales: dict[str, Scale] = {}
    named: dict[str, str] = {}
    for question in corpus.questions:
        given = answered(corpus).filter(question=question.id).select("item", "question", "rater", "value")
        if question.scale.ordered or given.is_empty():
            continue
        codes = question.scale.codes
        for code in codes[1:] if len(codes) == 2 else codes:
            name = f"{question.id}--{len(named) + 1}"
            scales[name], named[name] = Scale.points(0, 1), f"{question.id}\n{code}"
            chosen = (pl.col("value") == code).cast(pl.Float64).alias("value")
            parts.append(given.with_columns(pl.lit(name).alias("question"), chosen))
    if not parts:
        return None, {}
    instrument = Instrument.of_questions("chosen", "Options chosen", scales)
    return Corpus(corpus.items, corpus.raters, pl.concat(parts), instrument), named


def _by_trait(corpus: Corpus, trait: str, seed: int) -> pl.DataFrame | None:
    """Every two groups of a trait compared on every question; null where nothing can be tested.

    `p` is the larger one of Welch's test and of a permutation of raters, since few people in a group hardly ever choose
    a rare option.
    """
    grouped = grouped_by(corpus, trait)
    if grouped is None:
        return None
    how: dict[str, Any] = {"unit": "rater", "paired": False, "correction": "none", "ci": "none", "seed": seed}

    def tested(part: Corpus, permutations: int) -> pl.DataFrame:
        return compare(part, between=trait, by="question", permutations=permutations, **how).drop_nulls("p")

    try:
        compared = tested(grouped, PERMUTATIONS)
    except InputError:
        return None
    if few := compared.filter(pl.col("p_permutation") <= COARSE)["question"].unique().to_list():
        # Coarse p values would not outlast the correction (see `permutation_p`).
        keys = ["question", "first", "second"]
        finer = tested(grouped.filter(question=few), 10 * PERMUTATIONS).select(*keys, finer="p_permutation")
        compared = compared.join(finer, on=keys, how="left", maintain_order="left")
        small = pl.col("p_permutation") <= COARSE
        compared = compared.with_columns(pl.when(small).then("finer").otherwise("p_permutation").alias("p_permutation"))
    return compared.with_columns(pl.max_horizontal("p", "p_permutation").alias("p")) if len(compared) else None


def _strongest(analysis: CorpusAnalysis, trait: str, tested: pl.DataFrame) -> dict[str, Any]:
    row = tested.sort("p").row(0, named=True)
    groups = (row["first"], row["second"]) if row["difference"] >= 0 else (row["second"], row["first"])
    question, _, code = row["named"].partition("\n")
    option = f"“{label(analysis.corpus, question, float(code))}”" if code else None
    apart = abs(row["difference"])
    return {
        "trait": trait,
        "question": question,
        "option": option,
        "higher": groups[0],
        "lower": groups[1],
        "verb": f"answer {option} more often" if option else "give higher answers",
        "difference": apart,
        "apart": f"{100 * apart:.1f} percentage points for {option}" if option else f"{apart:.2f} points",
        "people": row["units"],
        "comparisons": len(tested),
        "p": min(1.0, row["p"] * len(tested)),
    }
