"""The study: read the corpora, let raters learn, ask models, and run the recipe.

Models know nothing of the user, one trait at a time, or earlier answers. A perspective depends on the value of a trait
alone, so each text is asked about once for each value. A history belongs to a user. For named users both are asked for
one trait at a time, and the traits vote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError
from vantage.perspective import Split, vote
from vantage.raters.chat import ChatRater
from vantage.raters.encoders import load_encoder
from vantage.raters.models.base import ModelError
from vantage.raters.scoring import calibrated
from vantage.raters.shots import Encode
from vantage.raters.trained import TrainedRater, fit
from vantage.raters.trained.pairs import PAIR_METHODS
from vantage.studies.base import listed
from vantage.studies.execution import NO_ENCODER, Context, advancing
from vantage.studies.perseval import analysis, whom
from vantage.studies.perseval.analysis import PAIR
from vantage.studies.perseval.cells import GridCell, check, planned
from vantage.studies.perseval.sources import CorpusTask, Predictions, added, by_rater, read, tasks
from vantage.studies.recipes import recipe_study

ONE_TRAIT: Final = "tfidf-users"
"""The method that is also told one trait at a time, as models are."""


def collect(context: Context[Any]) -> Corpus:
    """The corpora with what every feasible cell predicts for their test users."""
    options = context.options
    check(options)
    assert context.data is not None  # noqa: S101 - the study needs data
    own = (Corpus.read(context.data).about.name or context.data.name) if is_corpus(context.data) else ""
    names = [own] if own else listed(options.corpus)
    chosen = {"question": options.question, "traits": options.traits, "groups": options.groups}
    corpus = read(context.data, names, **chosen, warn=context.warn)
    # What an interrupted run predicted is not predicted again.
    left = context.folder / "corpus" if context.folder else None
    before = Corpus.read(left) if left is not None and is_corpus(left) else corpus
    for task in tasks(corpus, names, draw=options.draw, seed=options.split_seed):
        cells = planned(task, options, context.models)
        kept = by_rater(before, task)
        try:
            learn(task, cells, context, kept)
            for model in context.models:
                _Asker(task, model, context, kept).run(cells)
        finally:
            corpus = context.reached = added(corpus, task, kept)
    return corpus


def learn(task: CorpusTask, cells: list[GridCell], context: Context[Any], kept: Predictions) -> None:
    """Runs every trained cell that is not finished, then the raters that are told one trait."""
    wanted = [cell for cell in cells if cell.kind == "trained" and not cell.reason]
    fitted: dict[str, TrainedRater] = {}
    missing = False
    with context.step(f"{task.name}: learning", len(wanted)) as moved:
        for cell in wanted:
            torch, known = PAIR_METHODS[cell.rater].torch, (cell.rater, cell.variant) in kept
            learns = f"{len(_split(task, cell).train):,} judgments"
            if not known and not (torch and missing) and context.trains(f"{task.name}: {cell.name}", learns):
                try:
                    kept[cell.rater, cell.variant] = _rater(task, cell, context, fitted).judge()
                except (ModelError, InputError) as error:
                    if not torch or context.options.encoder != "auto":
                        raise
                    # What is not installed is mentioned once.
                    missing, why = True, str(error).rstrip(".")
                    context.warn(NO_ENCODER.format(why=f"{why[0].upper()}{why[1:]}."))
            moved(1)
    if task.traits and ONE_TRAIT in {cell.rater for cell in wanted}:
        _one_by_one(task, context, kept)


def _rater(task: CorpusTask, cell: GridCell, context: Context[Any], fitted: dict[str, TrainedRater]) -> TrainedRater:
    """The rater of a cell; those of other cells are in `fitted`."""
    if PAIR_METHODS[cell.rater].torch and cell.adaptation == "none":
        # What users say beforehand moves predictions and trains nothing: without it, it is the same network.
        return replace(_rater(task, replace(cell, adaptation="test"), context, fitted), offsets={})
    key = f"{cell.rater}-{cell.variant.replace('/', '-')}"
    if key not in fitted:
        given: dict[str, Any] = {"seed": context.seed}
        if PAIR_METHODS[cell.rater].torch:
            given["model"] = "minilm" if context.options.encoder == "auto" else context.options.encoder
            if context.options.quick:
                given["epochs"] = 2
            if context.folder is not None:
                given["checkpoints"] = context.folder / "checkpoints" / f"{task.name}-{key}"
            with context.step(f"{task.name}: training {key}", 100) as moved:
                fitted[key] = fit(_split(task, cell), kind=cell.rater, progress=advancing(moved, 100), **given)
        else:
            fitted[key] = fit(_split(task, cell), kind=cell.rater, **given)
        for note in fitted[key].notes:
            if "never predicted" in note:
                context.warn(f"{task.name}: {note}")
    return fitted[key]


def _split(task: CorpusTask, cell: GridCell) -> Split:
    # A rater that is blind to users learns from the training annotators alone, as the paper's baseline.
    return task.split(cell.users or "unnamed", cell.adaptation or "test", extended=bool(cell.extended))


def _one_by_one(task: CorpusTask, context: Context[Any], kept: Predictions) -> None:
    """A rater that is told one trait, for each trait: the learned counterpart of one prompt per trait."""
    split = task.split("named", "none")
    people = task.people.raters.join(split.train, on="rater", how="semi")
    for trait in task.traits:
        if people[trait].drop_nulls().n_unique() < 2 or (ONE_TRAIT, f"trait:{trait}") in kept:
            continue
        if context.trains(f"{task.name}: {ONE_TRAIT} ({trait} alone)", f"{len(split.train):,} judgments"):
            rater = fit(split, kind=ONE_TRAIT, traits=[trait], seed=context.seed)
            kept[ONE_TRAIT, f"trait:{trait}"] = rater.judge()


def sampled(task: CorpusTask, options: Any) -> Split:
    """What is put to models, which learn from nobody: all users of all texts, or of some texts of the test set."""
    every = task.crossed
    count = options.texts or (12 if options.quick else 0)
    if not count or count >= every.test["item"].n_unique():
        return every
    # Texts of the test set first, so that models can be compared with trained raters.
    rng = np.random.default_rng(task.seed)
    tested = task.split().test["item"].unique().sort()
    others = every.test.filter(~pl.col("item").is_in(tested.implode()))["item"].unique().sort()
    drawn = [texts[int(n)] for texts in (tested, others) for n in rng.permutation(len(texts))][:count]
    return replace(every, test=every.test.filter(pl.col("item").is_in(drawn)))


@dataclass
class _Asker:
    """One model and one corpus."""

    task: CorpusTask
    model: str
    context: Context[Any]
    kept: Predictions

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The pairs that are asked about."""
        return sampled(self.task, self.context.options).test.select(PAIR)

    @cached_property
    def base(self) -> pl.DataFrame:
        """What the model says when it is told nothing of the user, for every user who judged a text."""
        labels = self._labelled(self._ask("", {}, self.pairs["item"].unique().to_list(), "base"))
        return self.pairs.join(labels, on="item", how="left").select(*PAIR, "value")

    def run(self, cells: Iterable[GridCell]) -> None:
        """Every feasible cell of the model, unless all are finished."""
        mine = [c for c in cells if c.kind == "prompted" and c.rater.startswith(f"{self.model}: ") and not c.reason]
        for cell in mine if any((one.rater, one.variant) not in self.kept for one in mine) else ():
            way = cell.rater.removeprefix(f"{self.model}: ")
            if way == "base":
                predicted = self.base
            elif cell.users == "named":
                votes = {trait: self._given_trait(way, trait) for trait in self.task.traits}
                for trait, frame in votes.items():
                    self.kept[cell.rater, f"trait:{trait}"] = frame
                predicted = self._filled(vote(votes))
            else:
                predicted = self._filled(self._histories(""))
            self.kept[cell.rater, cell.variant] = predicted

    def _given_trait(self, way: str, trait: str) -> pl.DataFrame:
        """Predictions for the users whose trait is known, told alone or with their history."""
        if way == "history":
            return self._histories(trait)
        users = self.task.people.raters.select("rater", trait).drop_nulls().sort("rater")
        texts = self.pairs["item"].unique().to_list()
        rows = []
        for value in users[trait].unique().sort():
            # Any user with the value stands for it: nothing else of the user is told.
            user = users.filter(pl.col(trait) == value)["rater"][0]
            asked = self._ask(f"perspective:{trait}", {"user": user}, texts, f"{trait}={value}")
            rows.append(asked.with_columns(pl.lit(value).alias(trait)))
        labels = self._labelled(pl.concat(rows))
        self.kept[f"{self.model}: perspective", f"values:{trait}"] = labels.rename({trait: "rater"})
        return self.pairs.join(users, on="rater").join(labels, on=["item", trait], how="left").select(*PAIR, "value")

    def _histories(self, trait: str) -> pl.DataFrame:
        """Predictions from each user's own answers to other, similar texts; users without any are left to the base."""
        known = self.task.people
        answers = known.judgments.group_by("rater").len().filter(pl.col("len") > 1)
        users = self.pairs.join(answers, on="rater", how="semi")["rater"].unique().sort()
        if trait:
            described = self.task.people.raters.filter(pl.col(trait).is_not_null())["rater"]
            users = users.filter(users.is_in(described.implode()))
        without = self.pairs.join(answers, on="rater", how="anti")["rater"].unique().sort()
        if len(without):
            some = ", ".join(without.head(3))
            self.context.warn(
                f"{self.task.name}: {len(without)} of {self.pairs['rater'].n_unique()} users have no history, such as "
                f"{some}; for them the model's answer without one counts."
            )
        history = f"history:{self.context.options.shown}"
        style = f"perspective:{trait}+{history}" if trait else history
        rows = []
        for user in users:
            texts = self.pairs.filter(pl.col("rater") == user)["item"].to_list()
            more = {"user": user, "training": known, "encode": self.encoder}
            asked = self._ask(style, more, texts, f"{trait or 'history'}@{user}")
            rows.append(asked.with_columns(pl.lit(user).alias("rater")))
        empty = self.pairs.clear().with_columns(pl.lit(None, dtype=pl.Float64).alias("value"))
        return self._labelled(pl.concat(rows)).select(*PAIR, "value") if rows else empty

    def _ask(self, style: str, more: dict[str, Any], texts: list[str], who: str) -> pl.DataFrame:
        """What the model says of some texts: `item`, `value` and, where options are scored, `probabilities`."""
        people = self.task.people
        items = people.items.filter(pl.col("item").is_in(texts))
        asked = Corpus(items, people.raters, people.judgments.clear(), people.instruments, people.about)
        scored = {"on": True, "off": False}.get(self.context.options.scoring, self.model == "embedded")
        full = "+".join(filter(None, ["scoring" if scored else "", style])) or "zero-shot"
        name = f"{self.task.name}/{self.model}+{full}/{who}"
        # Calibrated one by one, two values of a trait could not differ in level; they are calibrated together below.
        rater = ChatRater(self.model, full, name=name, calibrate=False, **self.context.common, **more)
        rater = self.context.suited(rater)
        instrument = next(i for i in people.instruments if self.task.question in {q.id for q in i.questions})
        rated = self.context.rate(asked, rater, instrument, questions=[self.task.question])
        mine = rated.judgments.filter(pl.col("rater") == name)
        if "probabilities" not in mine.columns:
            mine = mine.with_columns(pl.lit(None, dtype=pl.List(pl.Float64)).alias("probabilities"))
        return mine.select("item", "value", pl.col("probabilities").cast(pl.List(pl.Float64)))

    def _labelled(self, asked: pl.DataFrame) -> pl.DataFrame:
        """Answers as labels; scored options of the embedded model after what it gives an option whatever it reads."""
        scored = asked.filter(pl.col("probabilities").is_not_null())
        if self.model != "embedded" or len(scored) < 2:
            return asked.drop("probabilities")
        codes = np.array(self.task.people.question(self.task.question).scale.codes)
        shares = np.clip(np.array(scored["probabilities"].to_list(), dtype=np.float64), 1e-12, None)
        values = codes[calibrated(np.log(shares)).argmax(axis=1)]
        return scored.with_columns(pl.Series("value", values)).drop("probabilities")

    def _filled(self, predicted: pl.DataFrame) -> pl.DataFrame:
        """Every pair; where nothing of the user was known, as the model answers for anyone."""
        rest = self.base.join(predicted, on=PAIR, how="anti")
        return pl.concat([predicted.select(*PAIR, "value"), rest.select(*PAIR, "value")])

    @cached_property
    def encoder(self) -> Encode:
        """The encoder of texts: the embedded one where it is installed, else TF-IDF."""
        wanted = self.context.options.retrieval
        # Which texts are shown hardly changes how long a prompt is, so no encoder is loaded for an estimate.
        if self.context.plans or wanted != "auto":
            return load_encoder("tfidf" if self.context.plans else wanted)
        try:
            return load_encoder("minilm")
        except ModelError:
            return load_encoder("tfidf")


STUDY: Final = recipe_study(
    "perseval",
    __package__,
    collect,
    analysis,
    whom,
    prepare=analysis.Perspectives.of,
    warnings=analysis.Perspectives.warnings,
)
