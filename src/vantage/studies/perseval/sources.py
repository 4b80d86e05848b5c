"""The corpora of the study, joined into one: where they are, what is asked, what raters are told, how to split.

Predictions are judgments in it, by one rater for each user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.readers import READERS, load
from vantage.corpora.storage import is_corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.interop.benchmark import headline
from vantage.perspective import Split, split
from vantage.perspective.splits import PEOPLE, Adaptation, Method, Users
from vantage.perspective.tally import CLOSENESS
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies.base import listed

GENERATIONS: Final = {26: "GenY", 42: "GenX", 58: "Boomer"}
"""The lowest age of each generation, as in the paper; whoever is younger is GenZ."""
TRAITS: Final = (
    *("group", "gender", "generation", "age", "age_group", "nationality", "ethnicity", "race"),
    *("education", "income", "ideology"),
)
"""The traits used by default: those of the paper, with ages as generations."""
MANY: Final = 5
"""The number of traits used of your own corpus."""
MOST: Final = 8
"""The number of values kept of a trait, the most frequent ones; the rest count as unknown."""
RARE: Final = 3
"""A value that fewer people have counts as unknown."""


@dataclass(frozen=True, slots=True)
class PublishedCorpus:
    """A published corpus: its reader, its folder, what is asked, and how the paper's library draws from it."""

    reader: str = ""
    folders: Sequence[str] = ()
    question: str = ""
    method: Method = "balanced"
    stratify: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


SOURCES: Final = {
    name: PublishedCorpus(**how) for name, how in Document.bundled(__package__, "sources.yaml").data.items()
}
"""The corpora known by name; any corpus folder works too."""


@dataclass(frozen=True, eq=False)
class CorpusTask:
    """One corpus of the study: its people, the question, and the splits that all variants share."""

    name: str
    people: Corpus
    question: str
    drawn: Mapping[str, Any]
    """How the test set is drawn: further options of `split`."""
    seed: int

    @property
    def traits(self) -> list[str]:
        """What is known of the people."""
        return self.people.traits

    @property
    def label(self) -> str:
        """What is scored: F1 of the positive class of two, closeness on an ordered scale, else macro F1."""
        return headline(self.people.question(self.question))

    def served_from(self, threshold: float) -> float:
        """The lowest score of a user who is served: the threshold or, by closeness, one step of the scale."""
        scale = self.people.question(self.question).scale
        # A hair less: 1 − 1/4 and a mean of distances differ in the last digit.
        return (1 - 1 / (len(scale.codes) - 1) if self.label == CLOSENESS else threshold) - 1e-12

    @lru_cache(maxsize=64)  # noqa: B019 - a task lives as long as its run
    def split(self, users: Users = "unnamed", adaptation: Adaptation = "test", *, extended: bool = False) -> Split:
        """The split of a variant; the test set is the same for all."""
        how = {"users": users, "adaptation": adaptation, "extended": extended, "seed": self.seed, **self.drawn}
        return split(self.people, question=self.question, **how)

    @property
    def crossed(self) -> Split:
        """All users and texts, for raters that learn from nobody."""
        return split(self.people, question=self.question, method="crossed")


def read(
    data: Path,
    names: Sequence[str],
    *,
    question: str = "",
    traits: str = "auto",
    groups: str = "hub",
    warn: Callable[[str], None] = lambda _: None,
) -> Corpus:
    """The named corpora as one; `corpus` of items and raters says where they come from, and so do ids of several.

    `warn` is called with the traits that are left out, and why.
    """
    parts = []
    for name in names:
        corpus = _source(data, name, groups)
        asked = _question(corpus, name, question)
        part, left_out = _prepared(corpus, name, asked, traits, f"{name}:" if len(names) > 1 else "")
        if left_out:
            reasons = "; ".join(f"{', '.join(some)} ({reason})" for reason, some in left_out.items())
            warn(f"{name}: traits that are not told of users: {reasons}.")
        parts.append(part)
    return parts[0].merge(*parts[1:])


def tasks(corpus: Corpus, names: Sequence[str], *, draw: str = "auto", seed: int = 42) -> Iterator[CorpusTask]:
    """The corpora of the study, taken apart again, each with how it is split."""
    for name in names:
        items = corpus.items.filter(corpus=name)
        raters = corpus.raters.filter(pl.col("corpus") == name, pl.col("kind").cast(pl.String).is_in(PEOPLE))
        ours = ("corpus", "model", "style", "stands_for")
        known = [t for t in corpus.traits if t not in ours and raters[t].drop_nulls().n_unique() > 1]
        judgments = corpus.judgments.join(raters, on="rater", how="semi").join(items, on="item", how="semi")
        question = judgments["question"][0]
        # Other corpora have columns that are empty here.
        items = items.select([column for column in items.columns if items[column].null_count() < len(items)])
        people = Corpus(items, raters.select("rater", "kind", *known), judgments, corpus.instruments, corpus.about)
        source = SOURCES.get(name, PublishedCorpus())
        method: Method = "balanced" if draw == "balanced" else source.method
        if draw == "paper" and method == "balanced":
            method = "perseval"
        drawn: dict[str, Any] = {"method": method, "stratify": source.stratify if source.stratify in known else None}
        yield CorpusTask(name, people, question, drawn, seed)


def _source(data: Path, name: str, groups: str) -> Corpus:
    if is_corpus(data):
        return Corpus.read(data)
    if name not in SOURCES:
        if is_corpus(data / name):
            return Corpus.read(data / name)
        raise InputError(f"there is no corpus '{name}'", remedy=nearest(name, list(SOURCES)))
    source = SOURCES[name]
    options = {"groups": groups} if name == "hs-brexit" else source.options
    wanted = {folder.casefold() for folder in (*source.folders, name)}
    inside = [path for depth in ("*", "*/*") for path in sorted(data.glob(depth)) if path.is_dir()]
    places = [data] if data.is_file() else [path for path in (data, *inside) if path.name.casefold() in wanted]
    if not places:
        needs = READERS[source.reader].needs
        raise InputError(
            f"corpus '{name}' is not here", file=data, remedy=f"put it into a folder {source.folders[0]}: {needs}"
        )
    return load(source.reader, places[0], **options)


def _question(corpus: Corpus, name: str, given: str) -> str:
    """The question: the one given (for one corpus as CORPUS=QUESTION), the paper's, or the first."""
    given_names = dict(part.rpartition("=")[::2] for part in given.replace(" ", "").split(",") if part)
    wanted = given_names.get(name) or given_names.get("") or SOURCES.get(name, PublishedCorpus()).question
    return corpus.question(wanted).id if wanted else corpus.questions[0].id


def _prepared(
    corpus: Corpus, name: str, question: str, traits: str, prefix: str
) -> tuple[Corpus, dict[str, list[str]]]:
    """People's answers to one question with the traits that are used; and those that are not, by reason."""
    everyone = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(PEOPLE))
    chosen, left_out = _chosen(everyone, corpus, traits, own=name not in SOURCES)
    people = everyone.select("rater", "kind", *(_in_words(everyone, trait) for trait in chosen))
    if rare := [trait for trait in chosen if people[trait].drop_nulls().n_unique() < 2]:
        left_out[f"fewer than two values that {RARE} people share"] = rare
        people = people.drop(rare)
    judged = corpus.judgments.filter(pl.col("question") == question, pl.col("value").is_not_null())
    judged = judged.join(people, on="rater", how="semi")
    people = people.join(judged, on="rater", how="semi")
    if people.is_empty():
        raise InputError(f"nobody answered question '{question}' of corpus '{name}'", remedy="choose another question")
    items = corpus.items.join(judged, on="item", how="semi", maintain_order="left")
    instrument = next(i for i in corpus.instruments if question in {q.id for q in i.questions})

    def moved(frame: pl.DataFrame) -> pl.DataFrame:
        ids = [column for column in ("item", "rater") if column in frame.columns]
        return frame.with_columns((pl.lit(prefix) + pl.col(column)).alias(column) for column in ids)

    items, people = (moved(frame).with_columns(pl.lit(name).alias("corpus")) for frame in (items, people))
    return Corpus(items, people, moved(judged), instrument, corpus.about), left_out


def _chosen(people: pl.DataFrame, corpus: Corpus, traits: str, *, own: bool) -> tuple[list[str], dict[str, list[str]]]:
    """The traits that are used, and those that are not, by reason; those of your `own` corpus are all alike."""
    every = list(corpus.traits)
    if "age" in every and people["age"].dtype.is_numeric():
        every[every.index("age")] = "generation"
    values = {t: people["age" if t not in people.columns else t].drop_nulls().n_unique() for t in every}
    known, alike = ([t for t in every if values[t] > 1], [t for t in every if values[t] == 1])
    same = "everybody has the same value"
    if traits == "auto":
        papers: list[str] = [t for t in TRAITS if t in known]
        # What a paper leaves out of its corpora says nothing about other corpora.
        own = own or not papers
        why = f"only the first {MANY} are told" if own else "not among the traits of the paper"
        chosen = [*papers, *(t for t in known if t not in papers)][:MANY] if own else papers
        left_out = {f"{why}; name them with --traits": [t for t in known if t not in chosen], same: alike}
    else:
        wanted = [trait for trait in listed(traits) if trait != "none"]
        chosen = [t for t in wanted if t in known]
        left_out = {"the corpus does not have them": [t for t in wanted if t not in every]}
        left_out[same] = [t for t in wanted if t in alike]
    return chosen, {reason: some for reason, some in left_out.items() if some}


def _in_words(people: pl.DataFrame, trait: str) -> pl.Expr:
    """A trait in words: ages as generations, rare values as unknown."""
    if trait == "generation" and "generation" not in people.columns:
        value: pl.Expr = pl.when(pl.col("age").is_not_null()).then(pl.lit("GenZ"))
        for start, name in GENERATIONS.items():
            value = pl.when(pl.col("age") >= start).then(pl.lit(name)).otherwise(value)
    else:
        value = pl.col(trait).cast(pl.String)
    counts = people.select(value.alias("value"))["value"].drop_nulls().value_counts().sort("count", "value")
    kept = counts.filter(pl.col("count") >= RARE).tail(MOST)["value"].to_list()
    return pl.when(value.is_in(kept)).then(value).alias(trait)


PAIR: Final = ("item", "rater", "value")
Predictions: TypeAlias = dict[tuple[str, str], pl.DataFrame]
"""Predictions for each user (`item`, `rater`, `value`) by rater and variant: that of a cell, `trait:NAME` (one trait is
known), or `values:NAME` (a value of the trait stands for the user)."""


def added(corpus: Corpus, task: CorpusTask, predictions: Predictions) -> Corpus:
    """The corpus with predictions; `stands_for` tells the user."""
    judged, raters = [], []
    for (rater, variant), frame in predictions.items():
        kind = "trained" if rater in PAIR_METHODS else "persona"
        about = {"kind": kind, "model": rater, "style": variant, "corpus": task.name}
        named = frame.with_columns(
            *(pl.lit(value).alias(name) for name, value in about.items()),
            rater=pl.format("{}/{}/{}/@{}", pl.lit(task.name), pl.lit(rater), pl.lit(variant), "rater"),
            value=pl.col("value").cast(pl.Float64),
            status=pl.when(pl.col("value").is_null()).then(pl.lit("unparsed")).otherwise(pl.lit("answered")),
            question=pl.lit(task.question),
            stands_for="rater",
        )
        judged.append(named.select("item", "question", "rater", "value", "status"))
        raters.append(named.unique("rater", maintain_order=True).select("rater", *about, "stands_for"))
    return corpus.add(pl.concat(judged), pl.concat(raters)) if judged else corpus


def by_rater(corpus: Corpus, task: CorpusTask) -> Predictions:
    """The predictions in a corpus of the study, as `added` put them there."""
    if "stands_for" not in corpus.raters.columns:
        return {}
    chosen = corpus.raters.filter(pl.col("stands_for").is_not_null(), corpus=task.name)
    chosen = chosen.select("rater", "stands_for", "model", "style")
    rows = corpus.judgments.filter(pl.col("question") == task.question).join(chosen, on="rater")
    rows = rows.select("item", pl.col("stands_for").alias("rater"), "value", "model", "style").sort("rater", "item")
    return {
        (str(model), str(style)): part.select(PAIR)
        for (model, style), part in rows.group_by("model", "style", maintain_order=True)
    }
