"""The report on any corpus: a recipe whose sections depend on who judged what.

People are measured among themselves; models, personas and trained raters stand beside them and are never pooled with
them. Raters who were excluded stay out and are named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import polars as pl
from scipy.special import stdtrit

from vantage.corpora import Corpus
from vantage.corpora.describe import describe
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.agreement.alpha import alpha
from vantage.measures.intervals import Bounds
from vantage.measures.means.level import mean, prevalence
from vantage.measures.powered.sentences import worth
from vantage.measures.ratings import Floats
from vantage.measures.relations.compare import compare
from vantage.measures.reliability.rater_quality import rater_quality as each_rater
from vantage.measures.scoring.accuracy import accuracy
from vantage.report.cases import LISTED, UNIT, beside_people, label, with_texts
from vantage.report.cells import counted
from vantage.report.engine import PEOPLE, Analysis, Data
from vantage.report.folder import Report
from vantage.report.panels import panel_matrices
from vantage.report.parts import Figure, Part, Result
from vantage.report.recipe import Recipe, functions_of
from vantage.report.record import Record, now, versions
from vantage.report.ruler import trait_effects, wright_maps
from vantage.report.sentences import p_value
from vantage.scales import Scale, show_code

DRAWN: Final = 16
"""How many questions are drawn in one figure."""
GROUPS: Final = range(2, 9)
"""How many values a trait may have to be compared; one with more numbers is halved at its median."""
FEWEST: Final = 5
"""How many raters a group needs to be compared."""
RULERS: Final = 3
"""How many questions have a Wright map, and a matrix of models."""
PERMUTATIONS: Final = 2000
"""Of raters, in the comparison of groups."""
TOGETHER: Final = ("judged_by", "estimate", "low", "high", "lambda", "labels_gained", "items", "judgments", "reason")
"""What is shown of a powered estimate."""


class CorpusAnalysis(Analysis):
    """A corpus as its report looks at it."""

    @cached_property
    def kept(self) -> Corpus:
        """The corpus without excluded raters."""
        return self.corpus if self.left_out is None else self.corpus.filter(~pl.col("excluded").fill_null(value=False))

    @cached_property
    def left_out(self) -> pl.DataFrame | None:
        """The raters who were excluded; null where there are none."""
        if "excluded" not in self.corpus.raters.columns:
            return None
        out = self.corpus.raters.filter(pl.col("excluded").cast(pl.Boolean).fill_null(value=False))
        return out if len(out) else None

    @cached_property
    def people(self) -> Corpus:
        """The people among the raters; everyone where there is nobody but others."""
        kinds = self.kept.raters["kind"].cast(pl.String)
        return self.kept.filter(kind=list(PEOPLE)) if kinds.is_in(PEOPLE).any() else self.kept

    @cached_property
    def several(self) -> Corpus | None:
        """People, where two or more of them gave a value."""
        return self.people if _answered(self.people)["rater"].n_unique() > 1 else None

    @cached_property
    def ordered(self) -> Corpus | None:
        """The same for questions on ordered scales."""
        asked = [question.id for question in self.kept.questions if question.scale.ordered]
        part = self.several.filter(question=asked) if self.several is not None and asked else None
        return part if part is not None and len(_answered(part)) else None

    @cached_property
    def others(self) -> list[str]:
        """Models, personas and trained raters who gave a value beside people."""
        kinds = dict(self.kept.raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows())
        if not any(kind in PEOPLE for kind in kinds.values()):
            return []
        names = _answered(self.kept)["rater"].unique().to_list()
        return sorted(name for name in names if kinds[name] in ("model", "persona", "trained"))

    @cached_property
    def beside(self) -> Corpus | None:
        """People and others; null where there are no others or fewer than two people."""
        if not self.others or self.several is None:
            return None
        return self.kept.filter(rater=[*self.people.raters["rater"], *self.others])

    @cached_property
    def beside_several(self) -> Corpus | None:
        """The same where there are two others or more."""
        return self.beside if len(self.others) > 1 else None

    @cached_property
    def distances(self) -> pl.DataFrame | None:
        """How far each of the others is from people, item by item; null where there are fewer than two people."""
        return None if self.beside is None else beside_people(self, self.others)


def overview(corpus: Corpus, *, seed: int = 0) -> Result:
    """Sections on any corpus, with or without judgments.

    >>> from vantage import demo_corpus
    >>> [section.title for section in overview(demo_corpus()).sections]
    ['Do people agree?', 'The texts', 'Who judges differently?', 'Raters', 'The answers', 'What is in the corpus']
    """
    functions = functions_of(sys.modules[__name__])
    analysis = CorpusAnalysis(corpus, None, seed)
    return Recipe.bundled("vantage.report", functions, "corpus.yaml").result(
        analysis, functions, warnings=tuple(_warnings(corpus))
    )


def corpus_report(corpus: Corpus, *, seed: int = 0) -> Report:
    """The report on a plain corpus, ready to be written: `corpus_report(corpus).write("folder")`."""
    part = corpus.included()
    about = corpus.about
    record = Record("corpus", about.title or about.name, state="complete", started=now(), seed=seed)
    record.data = str(corpus.folder or "")
    record.versions = versions()
    record.describe(part, corpus.folder)
    result = overview(part, seed=seed)
    record.finished = now()
    return Report(record, result)


def questions(analysis: CorpusAnalysis) -> Data:
    """The questions and how often they were judged."""
    description = describe(analysis.corpus)
    rows = [
        {
            "question": question["question"],
            "scale": question["scale"],
            **{name: question[name] for name in ("items", "raters", "judgments")},
            "per_item": question["judgments_per_item"]["mean"],
            "mean": question["mean"],
            "not_answered": {s: n for s, n in question["statuses"].items() if s != "answered"} or None,
        }
        for question in description["questions"]
    ]
    contents = ", ".join(
        [
            counted(description["items"], "item"),
            counted(description["raters"], "rater"),
            counted(description["judgments"], "judgment"),
        ]
    )
    notes = " ".join(str(note) for note in description["notes"]) or None
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"contents": contents, "corpus_notes": notes})


def answers(analysis: CorpusAnalysis) -> list[Part]:
    """How the answers are spread: shares of options for each scale, boxes for numbers on a slider."""
    asked = describe(analysis.kept)["questions"]
    by_scale: dict[tuple[float, ...], list[dict[str, Any]]] = {}
    for question in asked:
        scale = analysis.corpus.question(question["question"]).scale
        if not scale.slides and question["values"] and sum(question["values"].values()):
            by_scale.setdefault(scale.codes, []).append(question)
    parts: list[Part] = [
        _shares(analysis.corpus, found, f"answers-{number}" if len(by_scale) > 1 else "answers")
        for number, found in enumerate(by_scale.values(), 1)
    ]
    continuous = [question.id for question in analysis.corpus.questions if question.scale.slides]
    values = _answered(analysis.kept).filter(pl.col("question").is_in(continuous))
    if len(values):
        caption = "The values given: median, quartiles, and whiskers to 1.5 times their distance."
        options = {"category": "question", "kind": "box", "label": "value"}
        parts.append(Figure("values", caption, "", "distribution", values.select("question", "value"), options))
    return parts


def statuses(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """What became of every question, where not all was answered."""
    counts = analysis.corpus.judgments.group_by("question", pl.col("status").cast(pl.String)).len("n")
    if set(counts["status"]) <= {"answered"}:
        return None
    return counts.pivot(on="status", index="question", values="n", sort_columns=True).fill_null(0)


def near_people(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """How far each model is from a person, beside how far two people are from each other, with the difference.

    Distances are shares of the scale's range (0 or 1 on a nominal scale), averaged over pairs within an item; the
    distance of two people is the noise floor that no model can be expected to undercut by agreeing with everyone.
    `p` is the larger one of Student's test over items and of the test that model and people can be exchanged.
    """
    rows = []
    if analysis.distances is not None:
        for (name, question), part in analysis.distances.group_by("rater", "question", maintain_order=True):
            difference = (part["model"] - part["apart"]).to_numpy()
            low, high = _t_interval(difference)
            mean = float(difference.mean())
            p = None if low is None else max(p_value(mean, low, high, 0.0, units=len(part)) or 0.0, _exchanged_p(part))
            means = {"model": part["model"].mean(), "people": part["apart"].mean(), "difference": mean}
            rows.append(
                {"question": question, "rater": name, **means, "low": low, "high": high, "items": len(part), "p": p}
            )
    return pl.DataFrame(rows, infer_schema_length=None).sort("question", "rater") if rows else None


def accuracies(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """Each model against the people's most frequent answer, and against their mean on ordered scales."""
    if analysis.beside is None:
        return None
    frames = []
    for question in analysis.beside.questions:
        part = analysis.beside.filter(question=question.id)
        if _answered(part).filter(pl.col("rater").is_in(analysis.others)).is_empty():
            continue
        wanted: list[tuple[str, list[str]]] = [("mean", ["mae", "spearman"])] if question.scale.ordered else []
        wanted += [("majority", ["accuracy", "f1_macro"])] if question.scale.range is None else []
        for reference, metrics in wanted:
            frames.append(
                accuracy(part, by=["question", "rater"], reference=reference, metric=metrics, seed=analysis.seed)
            )
    if not frames:
        return None
    frame = pl.concat(frames, how="diagonal_relaxed")
    name = pl.when(pl.col("average").is_null()).then("metric").otherwise(pl.format("{} {}", "average", "metric"))
    return frame.with_columns(name.alias("metric")).select("question", "rater", "metric", "estimate", "low", "high")


def panel_figures(analysis: CorpusAnalysis) -> list[Part | str] | None:
    """The error correlations of the models, question by question."""
    if analysis.beside_several is None:
        return None
    try:
        return [
            *panel_matrices(analysis.beside_several, [question.id for question in analysis.corpus.questions][:RULERS])
        ]
    except InputError:
        return None  # the measure above it has said why


def far_from_people(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """The texts on which each model is furthest from people."""
    if analysis.distances is None:
        return None
    both = analysis.distances.with_columns((pl.col("model") - pl.col("apart")).alias("beyond"))
    ranked = both.filter(pl.col("beyond") > 0).sort("rater", "beyond", *UNIT, descending=[False, True, False, False])
    listed = with_texts(analysis, ranked.group_by("rater", maintain_order=True).head(LISTED // 2))
    if listed is None:
        return None
    answer = [label(analysis.corpus, q, v) for q, v in listed.select("question", "answer").iter_rows()]
    return listed.with_columns(answer=pl.Series(answer)).select("rater", "text", "question", "answer", "answers")


def together(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """People's estimates of each question sharpened by each model that judged more items than people did."""
    found = []
    asked = _answered(analysis.people).group_by("question").agg(pl.col("item").unique())
    judged = {question: set(items) for question, items in asked.iter_rows()}
    for name in analysis.others:
        mine = _answered(analysis.kept).filter(rater=name).group_by("question").agg(pl.col("item").unique())
        for question, items in mine.sort("question").iter_rows():
            if set(items) - judged.get(question, set()) and set(items) & judged.get(question, set()):
                found += _powered(analysis, str(question), name)
    if not found:
        return None
    several = len({row["rater"] for row in found}) > 1
    panel = pl.format("{}, {}", "what", "rater") if several else pl.col("what")
    return pl.DataFrame(found, infer_schema_length=None).with_columns(panel.alias("panel"))


def _powered(analysis: CorpusAnalysis, question: str, rater: str) -> list[dict[str, Any]]:
    """The mean or the share of the most frequent answer, and agreement where several people judged an item."""
    part, scale = analysis.kept.filter(question=question), analysis.kept.question(question).scale
    answers = _answered(analysis.people).filter(question=question)
    if scale.ordered and len(scale.codes) != 2:
        wanted: list[tuple[str, Any, dict[str, Any]]] = [(f"mean of {question}", mean, {})]
    else:
        code = max(scale.codes) if len(scale.codes) == 2 else float(answers["value"].mode().sort()[0])
        wanted = [(f"share of {scale.label(code)} ({question})", prevalence, {"value": code})]
    if answers.group_by("item").agg(pl.col("rater").n_unique())["rater"].max() != 1:
        wanted.append((f"alpha of {question}", alpha, {}))
    rows = []
    for what, function, options in wanted:
        made = function(part, powered_by=rater, seed=analysis.seed, **options).to_dicts()
        for row in made:
            both, fine = row["judged_by"] == "both", row["representative"] is not False
            said = worth(row, rater) if both and fine else None
            rows.append(
                {
                    "what": what,
                    "rater": rater,
                    **{name: row[name] for name in TOGETHER},
                    "worth": None if said is None else f"{what[0].upper()}{what[1:]}: {said}.",
                    "warning": None if fine else f"{what}. {row['reason'][0].upper()}{row['reason'][1:]}.",
                }
            )
    return rows


def traits(analysis: CorpusAnalysis) -> Data | list[str] | None:
    """For each trait the two groups of people that lie furthest apart, tested over people.

    A person is one unit. Questions on ordered scales are compared by their answers, others by how often each option was
    chosen. The p value is that of the strongest comparison times the number of comparisons of the trait.
    """
    if analysis.several is None:
        return None
    compared = [(analysis.ordered, {}), _chosen(analysis.several)]
    rows, untested = [], []
    for trait in analysis.several.traits:
        tested = [
            found.with_columns(pl.col("question").replace(options).alias("named"))
            for corpus, options in compared
            if corpus is not None and (found := _by_trait(corpus, trait, analysis.seed)) is not None
        ]
        name = trait.replace("_", " ")
        if tested:
            rows.append(_strongest(analysis, name, pl.concat(tested, how="diagonal_relaxed")))
        else:
            untested.append(name)
    note = f"Not compared, since two to eight groups of five people are needed: {', '.join(untested)}."
    if not rows:
        return [note] if untested else None
    return Data(pl.DataFrame(rows, infer_schema_length=None), {"untested": note if untested else None})


def rater_quality(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """Each person beside the others.

    `usual` is the median correlation of all; it is left out for those who run against the others, of whom more is said.
    """
    if analysis.ordered is None:
        return None
    try:
        quality = each_rater(analysis.ordered, kinds="all")
    except InputError:
        # Questions with different scales cannot be pooled.
        quality = each_rater(analysis.ordered, by="question", kinds="all")
    usual = pl.col("estimate").median()
    usual = usual.over("question") if "question" in quality.columns else usual
    return quality.with_columns(pl.when(pl.col("high") >= 0).then(usual).alias("usual"))


def explained(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """What each trait explains, given the others and who judged what: one row per trait and question."""
    if analysis.ordered is None:
        return None
    corpus, kept = analysis.ordered, list[str]()
    for trait in analysis.ordered.traits:
        grouped = _grouped(corpus, trait)
        if grouped is not None:
            corpus, kept = grouped, [*kept, trait]
    frames = [
        found.with_columns(question=pl.lit(question.id))
        for question in corpus.questions
        if (found := trait_effects(corpus, kept, question.id, seed=analysis.seed)) is not None
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else None


def rulers(analysis: CorpusAnalysis) -> list[Part | str] | None:
    """The Wright map of the first questions on ordered scales: people, models and items on one scale."""
    if analysis.ordered is None:
        return None
    asked = set(_answered(analysis.ordered)["question"])
    return wright_maps(analysis.kept, [one.id for one in analysis.kept.questions if one.id in asked][:RULERS])


def excluded(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """The raters who were left out, with what is known of the reason."""
    if analysis.left_out is None:
        return None
    known = [name for name in ("rater", "verdict", "reason", "checks", "note") if name in analysis.left_out.columns]
    return analysis.left_out.select(known)


def _warnings(corpus: Corpus) -> Iterator[str]:
    """What must be known first: no judgments at all, raters who never gave a value."""
    if corpus.judgments.is_empty():
        yield "The corpus has no judgments, so there is nothing to measure yet."
        return
    by_rater = corpus.judgments.group_by("rater", maintain_order=True).agg(
        pl.len().alias("all"),
        pl.col("value").is_not_null().sum().alias("values"),
        pl.col("status").cast(pl.String).mode().first().alias("mostly"),
    )
    silent = by_rater.filter(pl.col("values") == 0)
    for row in silent.head(5).iter_rows(named=True):
        mostly = row["mostly"].replace("_", " ")
        yield f"{row['rater']} gave no value in {counted(row['all'], 'judgment')} (mostly {mostly})."
    if len(silent) > 5:
        yield f"Neither did {counted(len(silent) - 5, 'other rater')}."


def _answered(corpus: Corpus) -> pl.DataFrame:
    return corpus.judgments.filter(pl.col("value").is_not_null())


def _exchanged_p(part: pl.DataFrame) -> float:
    """The two-sided p value of the mean difference if model and people can be exchanged within every item.

    The permutation distribution has mean 0 and is fitted by a Pearson type III distribution with its variance and
    skewness (Mielke and Berry 2007), which Student's test does not know and which matters where items are few.
    """
    from scipy.stats import pearson3

    variance = float(part["squared"].sum())
    if variance <= 0:
        return 1.0
    z = float((part["model"] - part["apart"]).sum()) / variance**0.5
    null = pearson3(float(part["cubed"].sum()) / variance**1.5)
    return float(min(1.0, 2 * min(null.cdf(z), null.sf(z))))


def _t_interval(values: Floats) -> Bounds:
    """Student's 95 % interval of a mean over items, which covers with few items too."""
    if len(values) < 2:
        return None, None
    reach = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5)
    return float(values.mean()) - reach, float(values.mean()) + reach


def _grouped(corpus: Corpus, trait: str) -> Corpus | None:
    """The corpus with a trait in a few groups of enough people; null where it has fewer than two such groups."""
    column = corpus.raters[trait]
    if column.dtype.is_numeric() and column.n_unique() > max(GROUPS):
        middle = float(column.median())  # type: ignore[arg-type]
        halves = pl.when(pl.col(trait) <= middle).then(pl.lit(f"{middle:g} or less")).when(pl.col(trait).is_not_null())
        raters = corpus.raters.with_columns(halves.then(pl.lit(f"more than {middle:g}")).alias(trait))
    else:
        raters = corpus.raters.with_columns(pl.col(trait).cast(pl.String))
    large = raters[trait].drop_nulls().value_counts().filter(pl.col("count") >= FEWEST)[trait]
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
        given = _answered(corpus).filter(question=question.id).select("item", "question", "rater", "value")
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
    grouped = _grouped(corpus, trait)
    if grouped is None:
        return None
    how: dict[str, Any] = {"unit": "rater", "paired": False, "correction": "none", "ci": "none", "seed": seed}
    try:
        compared = compare(grouped, between=trait, by="question", permutations=PERMUTATIONS, **how).drop_nulls("p")
    except InputError:
        return None
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
        "apart": f"{100 * apart:.0f} percentage points" if option else f"{apart:.2f} points",
        "people": row["units"],
        "comparisons": len(tested),
        "p": min(1.0, row["p"] * len(tested)),
    }


def _shares(corpus: Corpus, asked: Sequence[dict[str, Any]], name: str) -> Figure:
    scales = [corpus.question(question["question"]).scale for question in asked]
    labels = _option_labels(scales)
    frame = pl.DataFrame(
        [
            {"question": question["question"], "answer": label, "judgments": count}
            for question in asked[:DRAWN]
            for label, count in zip(labels, question["values"].values(), strict=True)
        ]
    )
    caption = "The share of each answer among all answers to a question."
    if len(asked) > DRAWN:
        caption += f" The first {DRAWN} of {len(asked)} questions are drawn."
    options: dict[str, Any] = {"category": "question", "part": "answer", "value": "judgments", "order": labels}
    options |= {"sequential": scales[0].ordered, "label": "share of the answers"}
    return Figure(name, caption, "", "shares", frame, options)


def _option_labels(scales: Sequence[Scale]) -> list[str]:
    """The answers in words where all questions use the same, as numbers where they do not."""
    first = scales[0]
    if not all([o.label for o in scale.options] == [o.label for o in first.options] for scale in scales):
        return [show_code(code) for code in first.codes]
    numbered = first.ordered and not all(o.label for o in first.options)
    return [f"{show_code(o.code)} {o.label}".strip() if numbered else o.name for o in first.options]
