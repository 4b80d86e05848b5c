"""The study: ask the models, or read what they said before, and run the recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.texts.dictionary import available
from vantage.studies.execution import Context, leave
from vantage.studies.recipes import recipe_study
from vantage.studies.stereomap import answers, elicitation, places, relations
from vantage.studies.stereomap.analysis import Stereomap
from vantage.studies.stereomap.groups import groups_corpus, read_groups


def collect(context: Context[Any]) -> Corpus:
    """What models say, with answers of theirs left for people to judge, and what people say of the same groups."""
    corpus = _asked(context)
    if context.options.evaluate and not context.plans:
        drawn = elicitation.response_items(corpus, context.options.evaluate, context.seed)
        then = "compare with vantage measure mean JUDGED --by source"
        leave(context, "evaluation", drawn, "answers", f"--instrument {elicitation.QUALITY}", then)
    return with_people(corpus, context)


def _asked(context: Context[Any]) -> Corpus:
    """Asks the models, or reads the judgments that were named with `--data`."""
    options = context.options
    instrument = elicitation.instrument_of(options)
    # A dictionary that cannot be read is refused before anyone is asked.
    elicitation.dictionary_of(options)
    if context.data is not None:
        corpus = Corpus.read(context.data)
        asked = {question.id for question in instrument.questions}
        if not any(one.aggregates or asked & {q.id for q in one.questions} for one in corpus.instruments):
            raise InputError(
                "the corpus has no judgments of stereotype content",
                file=corpus.folder,
                remedy="name a corpus that this study left, or one with judgments by stereotype-content",
            )
        return elicitation.recounted(corpus)
    groups = read_groups(options.groups)
    if len(groups) < options.k:
        raise InputError(
            f"{len(groups)} groups cannot make {options.k} clusters",
            remedy=f"name more groups, or set k to at most {max(len(groups) - 1, 1)}",
        )
    corpus = groups_corpus(groups, instrument, published_names=options.names == "published")
    return elicitation.elicit(context, corpus, instrument)


def with_people(corpus: Corpus, context: Context[Any]) -> Corpus:
    """The corpus with people's judgments of the same groups, found by id or by name."""
    if not context.options.people:
        return corpus
    people = Corpus.read(context.options.people).included().people()
    same: dict[str, str] = {}
    for row in corpus.items.iter_rows(named=True):
        names = [row["item"], row["group"], *(row.get("names") or "").split("; ")]
        same |= {name.casefold(): row["item"] for name in names}
    shown = "group" if "group" in people.items.columns else "item"
    item = pl.coalesce(
        pl.col(column).str.to_lowercase().replace_strict(same, default=None, return_dtype=pl.String)
        for column in ("item", shown)
    )
    groups = people.items.select("item", item.alias("same"))
    asked = [question.id for question in corpus.questions]
    judged = people.judgments.filter(pl.col("question").is_in(asked)).join(groups.drop_nulls(), on="item")
    if judged.is_empty():
        raise InputError(
            "people judged none of the groups with these questions",
            file=context.options.people,
            remedy="name a corpus with the same instrument and groups",
        )
    if lost := sorted(groups.filter(pl.col("same").is_null())["item"]):
        context.warn(f"People also judged {len(lost)} groups that are not part of the study: {', '.join(lost[:5])} …")
    raters = people.raters.filter(pl.col("rater").is_in(judged["rater"].unique().implode()))
    return corpus.add(judged.drop("item").rename({"same": "item"}), raters)


def warnings(analysis: Stereomap) -> Iterator[str]:
    """What must be known before anything is believed."""
    for source in analysis.sources:
        if source.reason:
            yield f"There are no clusters for {source.name}: {source.reason}."
        elif len(source.items) < (asked := analysis.asked["item"].n_unique()):
            yield f"{source.name} placed {len(source.items)} of {asked} groups, and what is said of it is about these."
    for (rater,), mine in sorted(analysis.models.group_by("rater"), key=lambda part: str(part[0])):
        statuses = mine["status"].cast(pl.String)
        if not (statuses == "answered").any():
            kinds = ", ".join(f"{name} {n:,}" for name, n in sorted(statuses.value_counts().iter_rows()))
            yield f"{rater} answered none of the questions ({kinds}); whatever needs ratings is left out for it."
    if not analysis.reference:
        yield "No group has a human reference, so that nothing is compared with people in 2002."
    if analysis.language != "en":
        yield (
            f"The questions were asked in another language ({analysis.language}). Refusals are recognised in English "
            "only, so that a refusal in another language counts as a reply that could not be read; the dictionary that "
            "comes with Vantage, its spelling variants and the words left out of key phrases are English too."
        )
    if not analysis.keywords.is_empty() and not available(analysis.language):
        yield (
            "There is no lemmatizer for this language, so the lemma stage of the keyword lookup found nothing; "
            "pip install 'vantage-raters[text]' brings those for English, German and Dutch."
        )


STUDY: Final = recipe_study(
    "stereomap",
    __package__,
    collect,
    places,
    relations,
    answers,
    prepare=Stereomap.from_run,
    warnings=warnings,
)
