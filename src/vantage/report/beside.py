"""A corpus as its report looks at it: people, who is left out, and models, personas and trained raters beside people.

How near these are to people, how accurate, where they differ, and what they save.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS
from vantage.instruments import Question
from vantage.measures import accuracy, alpha, mean, prevalence, student_interval
from vantage.measures.powered.estimate import CONTRADICTED, worth
from vantage.measures.scoring.error_gaps import known_traits
from vantage.report.cases import answered, beside_people, others_of
from vantage.report.engine import Analysis, Data, there
from vantage.report.ledger import JUDGED, p_value
from vantage.report.views import option_words
from vantage.scales import Scale

SHARE_OF_WAY: Final = ("skill_low", "skill_high", "skill_reason")
"""What is known of a skill besides its size."""
TOGETHER: Final = ("judged_by", "estimate", "low", "high", "lambda", "labels_gained", "items", "judgments", "reason")
"""What is shown of a powered estimate."""


@dataclass(eq=False)
class CorpusAnalysis(Analysis):
    """A corpus as its report looks at it."""

    left_out: pl.DataFrame | None = None
    """The raters who were excluded, and who are no part of the corpus."""
    everyone: Corpus | None = None
    """People with those who were excluded."""

    @cached_property
    def several(self) -> Corpus | None:
        """People, where two or more of them gave a value."""
        return self.people if answered(self.people)["rater"].n_unique() > 1 else None

    @cached_property
    def ordered(self) -> Corpus | None:
        """The same for questions on ordered scales."""
        return self._asked(lambda scale: scale.ordered)

    @cached_property
    def with_distances(self) -> Corpus | None:
        """The same for questions on ordered scales or with two options."""
        return self._asked(lambda scale: scale.has_distances)

    @cached_property
    def with_options(self) -> Corpus | None:
        """The same for questions that are answered by choosing an option."""
        return self._asked(lambda scale: not scale.slides)

    def _asked(self, suits: Callable[[Scale], bool]) -> Corpus | None:
        """Two people or more on the questions whose scale suits; null where none has an answer."""
        asked = [question.id for question in self.corpus.questions if suits(question.scale)]
        part = self.several.filter(question=asked) if self.several is not None and asked else None
        return part if part is not None and len(answered(part)) else None

    @cached_property
    def others(self) -> list[str]:
        """Models, personas and trained raters who gave a value beside people."""
        return others_of(self.corpus)

    @cached_property
    def beside(self) -> Corpus | None:
        """People and others; null where there are no others or fewer than two people."""
        if not self.others or self.several is None:
            return None
        return self.corpus.filter(rater=[*self.people.raters["rater"], *self.others])

    @cached_property
    def beside_several(self) -> Corpus | None:
        """The same where there are two others or more."""
        return self.beside if len(self.others) > 1 else None

    @cached_property
    def beside_known(self) -> Corpus | None:
        """People and others, where something is known of people that tells them apart."""
        return self.beside if self.beside is not None and known_traits(self.beside, None) else None

    @cached_property
    def distances(self) -> pl.DataFrame | None:
        """How far each of the others is from people, item by item; null where there are fewer than two people."""
        return None if self.beside is None else beside_people(self, self.others)


def near_people(analysis: CorpusAnalysis) -> pl.DataFrame:
    """How far each model is from a person, beside how far two people are from each other, with the difference.

    Distances are shares of the scale's range (0 or 1 on a nominal scale), averaged over pairs within an item; the
    distance of two people is the noise floor that no model can be expected to undercut by agreeing with everyone.
    `p` is the larger one of Student's test over items and of the test that model and people can be exchanged.
    """
    rows = []
    for (name, question), part in there(analysis.distances).group_by("rater", "question", maintain_order=True):
        difference = (part["model"] - part["disagreement"]).to_numpy()
        low, high = student_interval(difference)
        mean = float(difference.mean())
        p = None if low is None else max(p_value(mean, low, high, 0.0, units=len(part)) or 0.0, _exchanged_p(part))
        means = {"model": part["model"].mean(), "people": part["disagreement"].mean(), "difference": mean}
        row = {"question": question, "rater": name, **means, "low": low, "high": high}
        rows.append({**row, "items": len(part), "p": p})
    return pl.DataFrame(rows, infer_schema_length=None).sort("question", "rater")


def accuracies(analysis: CorpusAnalysis) -> Data | None:
    """Each model against the people's most frequent answer, and against their mean on ordered scales.

    Where models answered different items, `same_items` has the scores on those that all of them answered: a model that
    leaves out what is hard is not better for it.
    """
    frames, unequal, compared = [], False, False
    for question in there(analysis.beside).questions:
        part = there(analysis.beside).filter(question=question.id)
        mine = answered(part).filter(pl.col("rater").is_in(analysis.others))
        if mine.is_empty():
            continue
        scores, raters = _scores(part, question, analysis.seed), mine["rater"].n_unique()
        by_item = mine.group_by("item").agg(pl.col("rater").n_unique())
        shared = by_item.filter(pl.col("rater") == raters)["item"].to_list()
        if len(shared) < len(by_item):
            unequal, compared = True, compared or bool(shared)
            same = _scores(part.filter(item=shared), question, analysis.seed) if shared else scores.clear()
            keys = ["question", "rater", "metric"]
            scores = scores.join(same.select(*keys, same_items="estimate"), on=keys, how="left", maintain_order="left")
        frames.append(scores)
    if not frames:
        return None
    common = "Same items: the score on the items that all of them answered."
    none = "No item was answered by all of them, so their scores cannot be compared."
    note = f"Models answered different items. {common if compared else none}"
    return Data(pl.concat(frames, how="diagonal_relaxed"), {"unequal": note if unequal else None})


def against_aggregates(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """Each model against the aggregates that came with the data, such as gold labels or a majority."""
    kinds = dict(analysis.corpus.raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows())
    names = {kind: [name for name in kinds if kinds[name] == kind] for kind in set(kinds.values())}
    tested = [name for kind in MODELS for name in names.get(kind, [])]
    frames = [
        _scores(part, question, analysis.seed, gold).with_columns(reference=pl.lit(gold))
        for gold in names.get("aggregate", [])
        if tested
        for question in analysis.corpus.questions
        if len(answered(part := analysis.corpus.filter(rater=[*tested, gold], question=question.id)))
    ]
    return pl.concat(frames, how="diagonal_relaxed").drop_nulls("estimate") if frames else None


def _scores(part: Corpus, question: Question, seed: int, gold: str | None = None) -> pl.DataFrame:
    wanted: list[tuple[str, list[str]]] = [(gold or "mean", ["mae", "spearman"])] if question.scale.ordered else []
    wanted += [(gold or "majority", ["accuracy", "f1_macro"])] if question.scale.range is None else []
    how: dict[str, Any] = {"by": ["question", "rater"], "seed": seed}
    frames = [accuracy(part, reference=reference, metric=metrics, **how) for reference, metrics in wanted]
    name = pl.concat_str("metric", "average", separator="_", ignore_nulls=True)
    named = name.map_elements(option_words, return_dtype=pl.String).alias("metric")
    frame = pl.concat(frames, how="diagonal_relaxed").with_columns(named)
    kept = ("question", "rater", "metric", "estimate", "low", "high", "items", *JUDGED, *SHARE_OF_WAY)
    return frame.select(one for one in kept if one in frame.columns)


def together(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """People's estimates of each question sharpened by each model that judged more items than people did."""
    estimates = []
    # What people were asked about and left open is not open to be filled in by a model.
    asked = analysis.people.judgments.group_by("question").agg(pl.col("item").unique())
    judged = {question: set(items) for question, items in asked.iter_rows()}
    for name in analysis.others:
        mine = answered(analysis.corpus).filter(rater=name).group_by("question").agg(pl.col("item").unique())
        for question, items in mine.sort("question").iter_rows():
            if set(items) - judged.get(question, set()) and set(items) & judged.get(question, set()):
                estimates += _powered(analysis, str(question), name)
    if not estimates:
        return None
    several = len({row["rater"] for row in estimates}) > 1
    panel = pl.format("{}, {}", "what", "rater") if several else pl.col("what")
    return pl.DataFrame(estimates, infer_schema_length=None).with_columns(panel.alias("panel"))


def _powered(analysis: CorpusAnalysis, question: str, rater: str) -> list[dict[str, Any]]:
    """The mean or the share of the most frequent answer, and agreement where several people judged an item."""
    part, scale = analysis.corpus.filter(question=question), analysis.corpus.question(question).scale
    answers = answered(analysis.people).filter(question=question)
    if scale.ordered and len(scale.codes) != 2:
        wanted: list[tuple[str, Any, dict[str, Any]]] = [(f"mean of {question}", mean, {})]
    else:
        code = max(scale.codes) if len(scale.codes) == 2 else float(answers["value"].mode().sort()[0])
        wanted = [(f"share of {scale.label(code)} ({question})", prevalence, {"value": code})]
    if answers.group_by("item").agg(pl.col("rater").n_unique())["rater"].max() != 1:
        wanted.append((f"alpha of {question}", alpha, {}))
    rows = []
    for what, function, options in wanted:
        for row in function(part, powered_by=rater, seed=analysis.seed, **options).to_dicts():
            both, fine = row["judged_by"] == "both", row["random_sample"] != CONTRADICTED
            said = worth(row, rater) if both and fine else None
            idle = said is not None and row["lambda"] == 0
            rows.append(
                {
                    "what": what,
                    "rater": rater,
                    **{name: row[name] for name in TOGETHER},
                    "worth": None if said is None or idle else f"{what[0].upper()}{what[1:]}: {said}.",
                    "idle": f"{rater} to the {what}" if idle else None,
                    "warning": None if fine else f"{what}. {row['reason'][0].upper()}{row['reason'][1:]}.",
                }
            )
    return rows


def _exchanged_p(part: pl.DataFrame) -> float:
    """The two-sided p value of the mean difference if model and people can be exchanged within every item.

    The permutation distribution has mean 0 and is fitted by a Pearson type III distribution with its variance and
    skewness (Mielke and Berry 2007), which Student's test does not know and which matters where items are few.
    """
    from scipy.stats import pearson3

    variance = float(part["squared"].sum())
    if variance <= 0:
        return 1.0
    z = float((part["model"] - part["disagreement"]).sum()) / variance**0.5
    null = pearson3(float(part["cubed"].sum()) / variance**1.5)
    return float(min(1.0, 2 * min(null.cdf(z), null.sf(z))))
