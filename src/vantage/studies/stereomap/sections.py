"""The report of the study: what is analysed, in which order it is told, and what is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument
from vantage.measures.clusters import described
from vantage.measures.dictionary import Dictionary
from vantage.measures.phrases import Encode
from vantage.measures.refusals import refusals
from vantage.report.parts import Finding, Result
from vantage.studies.stereomap.comparing import people_table, recovered_table
from vantage.studies.stereomap.placing import ALL, Source, cluster_table, group_table, stability_table

METHODS: Final = (
    "Scores are means of questions as the instrument declares them (traits make facets, facets make dimensions); a run "
    "of a group in which a question has no answer has no score unless the option members says some. A model that was "
    "read by option scoring enters with the expected value of its distribution over the answers.",
    "Clusters are k-means on the groups' mean competence and warmth from 100 k-means++ starts, named by where their "
    "centroids lie. Intervals over runs resample whole runs; for a scored model they show what so many runs would give "
    "if answers were drawn from its distribution. Competence is tested against warmth with runs as replicates and each "
    "group in the cluster in which the other runs put it.",
    "Refusals are replies in which the model declines; replies that could not be read and calls that failed are "
    "counted apart and never as refusals.",
)
CAUTION: Final = (
    "The judgments report what a model says that a society thinks of groups. They describe neither the groups nor, "
    "unless the comparison with people says so, the society."
)


@dataclass(frozen=True)
class Analysis:
    """Everything that the sections are made from."""

    corpus: Corpus
    instrument: Instrument
    sources: Sequence[Source]
    keywords: pl.DataFrame
    dictionary: Dictionary
    encode: Encode | None = None
    listed: int = 10
    seed: int = 0

    @cached_property
    def labels(self) -> dict[str, str]:
        """The short name of each group."""
        column = "label" if "label" in self.corpus.items.columns else "item"
        return dict(self.corpus.items.select("item", column).iter_rows()) if column != "item" else {}

    @cached_property
    def reference(self) -> dict[str, str]:
        """The human cluster of each group that has one."""
        if "reference" not in self.corpus.items.columns:
            return {}
        return dict(self.corpus.items.drop_nulls("reference").select("item", "reference").iter_rows())

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """All names of each group, for masking."""
        if "names" not in self.corpus.items.columns:
            return {}
        return {
            item: names.split("; ") for item, names in self.corpus.items.select("item", "names").iter_rows() if names
        }

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """The judgments of groups by the instrument, all conditions."""
        asked = [question.id for question in self.instrument.questions]
        return self.corpus.judgments.filter(pl.col("question").is_in(asked))

    @cached_property
    def models(self) -> list[Source]:
        """The sources that are single models."""
        return [source for source in self.sources if source.name != ALL]

    def beside(self, column: str, source: str = "source") -> pl.Expr:
        """A column for figures, with the source before it where there are several."""
        return pl.col(column) if len(self.sources) < 2 else pl.concat_str(source, pl.lit(" · "), column)

    @cached_property
    def tested(self) -> pl.DataFrame:
        """The clusters of every source with their tests."""
        return cluster_table(self.sources, self.labels)

    @cached_property
    def people(self) -> pl.DataFrame:
        """How the clusters of every source compare with those of people."""
        return people_table(self.sources, self.reference, seed=self.seed)

    @cached_property
    def recovered(self) -> pl.DataFrame:
        """Which clusters of people every source recovers."""
        return recovered_table(self.sources, self.reference)

    @cached_property
    def clusters(self) -> pl.DataFrame:
        """One row per model and group with its cluster."""
        rows = [(s.name, item, cluster) for s in self.models for item, cluster in s.cluster_of().items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("rater", "item", "cluster"), pl.String), orient="row")


def report(analysis: Analysis) -> Result:
    """The whole report."""
    from vantage.studies.stereomap.answer_sections import refusal_section, sensitivity_section
    from vantage.studies.stereomap.glance import glance_section
    from vantage.studies.stereomap.place_sections import people_section, place_section, sure_section
    from vantage.studies.stereomap.relation_sections import other_section, relation_section
    from vantage.studies.stereomap.word_sections import keyword_section, reason_section

    made = [
        glance_section(analysis),
        place_section(analysis),
        sure_section(analysis),
        people_section(analysis),
        relation_section(analysis),
        other_section(analysis),
        keyword_section(analysis),
        reason_section(analysis),
        refusal_section(analysis),
        sensitivity_section(analysis),
    ]
    sections = [section for section in made if section is not None and (section.parts or section.text)]
    return Result(sections, list(findings(analysis)), list(warnings(analysis)), METHODS)


def findings(analysis: Analysis) -> Iterator[Finding]:
    """What to remember: places, certainty, people, refusals."""
    for source in analysis.models:
        if source.clusters is None:
            yield Finding("{source}: no map, because {reason}.", {"source": source.name, "reason": source.reason})
            continue
        ends = group_table([source], analysis.labels).with_columns(
            (pl.col("competence") - pl.col("warmth")).alias("apart")
        )
        top, bottom = ends.sort("apart", "item").row(-1, named=True), ends.sort("apart", "item").row(0, named=True)
        yield Finding(
            "Of {groups} groups, {source} places {top} furthest towards competence (competence minus warmth "
            "{high:+.2f}) and {bottom} furthest towards warmth ({low:+.2f}).",
            {
                "source": source.name,
                "top": top["group"],
                "high": top["apart"],
                "bottom": bottom["group"],
                "low": bottom["apart"],
                "groups": len(ends),
            },
        )
    yield from _certainty(analysis)
    yield from _people(analysis)
    yield from _refusals(analysis)


def _certainty(analysis: Analysis) -> Iterator[Finding]:
    for row in stability_table(analysis.models).drop_nulls("estimate").iter_rows(named=True):
        sentence = (
            "The clusters of {source} come out alike from resampled runs with an adjusted Rand index of {estimate:.2f} "
            "[{low:.2f}, {high:.2f}]; a group stays in its cluster in {held:.0%} of them."
        )
        yield Finding(sentence, {name: row[name] for name in ("source", "estimate", "low", "high", "held")})
    if analysis.tested.is_empty():
        return
    # Of several models the tables tell; a list of twenty sentences tells nothing.
    models = analysis.tested.filter(pl.col("source") != ALL) if len(analysis.models) == 1 else analysis.tested.clear()
    for (source,), mine in models.group_by("source", maintain_order=True):
        known = mine.drop_nulls("relation")
        if known.is_empty():
            continue
        apart = known.filter(pl.col("relation") != "=")
        told = "; ".join(
            f"{described(row['cluster'])}: {row['difference']:+.2f}, dz {row['dz']:.1f}"
            for row in apart.iter_rows(named=True)
        )
        yield Finding(
            "Over the runs of {source}, competence and warmth differ in {apart} of {clusters} clusters (p < .05 after "
            "Holm){told}.",
            {"source": source, "apart": len(apart), "clusters": len(mine), "told": f": {told}" if told else ""},
        )


def _people(analysis: Analysis) -> Iterator[Finding]:
    compared = analysis.people.filter(pl.col("source") != ALL).drop_nulls("estimate")
    for row in compared.iter_rows(named=True):
        verdict = "more than" if row["estimate"] > row["chance_high"] else "no more than"
        yield Finding(
            "The clusters of {source} agree with those of people {verdict} chance would have it (adjusted Rand index "
            "{estimate:.2f} over {groups} groups; 5 % of random orders exceed {chance:.2f}).",
            {**{n: row[n] for n in ("source", "estimate", "groups")}, "verdict": verdict, "chance": row["chance_high"]},
        )
    mixed = analysis.recovered.filter(pl.col("mixed"), pl.col("source") != ALL)
    if len(analysis.models) > 1:
        return
    for row in mixed.drop_nulls("recovered").iter_rows(named=True):
        seen = "sees, as people do," if row["recovered"] else "does not see"
        yield Finding(
            "{source} {seen} {title} for the groups where people see it (competence minus warmth {difference:+.2f}; "
            "people {human:+.2f}).",
            {
                "source": row["source"],
                "seen": seen,
                "title": row["title"],
                "difference": row["difference"],
                "human": row["human_difference"],
            },
        )


def _refusals(analysis: Analysis) -> Iterator[Finding]:
    main = analysis.ratings.filter(pl.col("condition") == "")
    if main.is_empty():
        return
    for row in refusals(main, by="rater").iter_rows(named=True):
        worst = refusals(main.filter(pl.col("rater") == row["rater"]), by="item").sort(
            "estimate", "item", descending=[True, False], nulls_last=True
        )
        first = worst.row(0, named=True)
        about = f", most about {analysis.labels.get(first['item'], first['item'])}" if first["estimate"] else ""
        yield Finding(
            "{rater} refused {share:.1%} of the questions that it answered or declined{about}; {unparsed:.1%} of its "
            "replies could not be read.",
            {"rater": row["rater"], "share": row["estimate"], "about": about, "unparsed": row["unparsed_share"]},
        )


def warnings(analysis: Analysis) -> Iterator[str]:
    """What must be known before anything is believed."""
    yield CAUTION
    for source in analysis.sources:
        if source.reason:
            yield f"There are no clusters for {source.name}: {source.reason}."
    main = analysis.ratings.filter(pl.col("condition") == "")
    for (rater,), mine in sorted(main.group_by("rater"), key=lambda part: str(part[0])):
        statuses = mine["status"].cast(pl.String)
        if not (statuses == "answered").any():
            kinds = ", ".join(f"{name} {n:,}" for name, n in sorted(statuses.value_counts().iter_rows()))
            yield f"{rater} answered none of the questions ({kinds}); whatever needs ratings is left out for it."
    language = analysis.instrument.language or "en"
    if language != "en":
        yield (
            f"The questions were asked in another language ({language}). Refusals are recognised in English only, so "
            "that a refusal in another language counts as a reply that could not be read; the dictionary that comes "
            "with Vantage, its spelling variants and the words left out of key phrases are English too."
        )
    if not analysis.keywords.is_empty():
        from vantage.measures.lemmas import available

        if not available(language):
            yield (
                "There is no lemmatizer for this language, so the lemma stage of the keyword lookup found nothing; "
                "pip install vantage[text] brings those for English, German and Dutch."
            )
