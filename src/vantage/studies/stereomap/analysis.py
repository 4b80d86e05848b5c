"""What is analysed: the judgments of a corpus, where each model places the groups, and its keywords and reasons."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from vantage.instruments import Instrument
from vantage.measures.texts.dictionary import Dictionary, lemmas
from vantage.measures.texts.keywords import matched
from vantage.report.engine import Analysis
from vantage.studies.stereomap.elicitation import keywords_of
from vantage.studies.stereomap.options import USUAL, StereomapOptions, axes_of, dictionary_of, instrument_of
from vantage.studies.stereomap.placing import ALL, PEOPLE, PlacedGroups, place


class Stereomap(Analysis):
    """A corpus of judged groups and what follows from it, computed once."""

    options: StereomapOptions

    @cached_property
    def instrument(self) -> Instrument:
        """The instrument of the corpus that declares scores."""
        return next((one for one in self.corpus.instruments if one.aggregates), None) or instrument_of(self.options)

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The scores of the map."""
        return axes_of(self.instrument, self.options.axes)

    @property
    def usual(self) -> bool:
        """Whether the map is the one that is known of people: competence and warmth."""
        return self.dimensions == USUAL

    @property
    def language(self) -> str:
        """The language of the questions."""
        return self.instrument.language or "en"

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """The judgments of groups by the instrument, under all conditions.

        People are one rater, and each of them is one run: of someone who judged a group twice, the first answer counts.
        """
        asked = [question.id for question in self.instrument.questions]
        corpus = self.corpus.included()
        rated = corpus.judgments.filter(pl.col("question").is_in(asked))
        is_person = pl.col("rater").is_in(corpus.people().raters["rater"].to_list())
        theirs = rated.filter(is_person).sort("sample", maintain_order=True)
        theirs = theirs.unique(["item", "question", "rater", "condition"], keep="first", maintain_order=True)
        person = (pl.col("rater").rank("dense") - 1).cast(rated.schema["sample"])
        return pl.concat([rated.filter(~is_person), theirs.with_columns(sample=person, rater=pl.lit(PEOPLE))])

    @cached_property
    def asked(self) -> pl.DataFrame:
        """Those of them that answer the prompt as it is, not one of its variants."""
        return self.ratings.filter(pl.col("condition") == "")

    @cached_property
    def models(self) -> pl.DataFrame:
        """Those of them that models made."""
        return self.asked.filter(pl.col("rater") != PEOPLE)

    @cached_property
    def sources(self) -> list[PlacedGroups]:
        """People where there are some, every model and, where there are several, all models together."""
        chosen = {name: getattr(self.options, name) for name in ("k", "resamples")}
        return place(self.asked, self.instrument, axes=self.dimensions, seed=self.seed, **chosen)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The short name of each group."""
        return self._of_items("label")

    @cached_property
    def reference(self) -> dict[str, str]:
        """The human cluster of each group that has one."""
        return self._of_items("reference")

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """All names of each group, for masking."""
        return {item: names.split("; ") for item, names in self._of_items("names").items() if names}

    @cached_property
    def clusters(self) -> pl.DataFrame:
        """One row per model and group with its cluster."""
        rows = [(s.name, *one) for s in self.sources if s.name != ALL for one in s.cluster_of.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("rater", "item", "cluster"), pl.String), orient="row")

    @cached_property
    def keywords(self) -> pl.DataFrame:
        """All keywords, under all conditions."""
        return keywords_of(self.corpus)

    @cached_property
    def dictionary(self) -> Dictionary:
        """Where keywords are looked up."""
        return dictionary_of(self.options)

    @cached_property
    def matches(self) -> pl.DataFrame:
        """The keywords that answer the prompt as it is, with what the dictionary says of them."""
        given = self.keywords.filter(pl.col("condition") == "")
        return matched(given, self.dictionary, lemmatize=lambda word, parts: lemmas(word, parts, self.language))

    @cached_property
    def reasons(self) -> pl.DataFrame:
        """Every reason that was given, with keywords and with ratings, under all conditions."""
        keys = ["item", "rater", "condition", "sample"]
        given = self.keywords.drop_nulls("reason").select(*keys, "about", pl.col("reason").alias("text"))
        rated = self.ratings.drop_nulls("rationale").filter(
            pl.col("status").cast(pl.String) == "answered", pl.col("rater") != PEOPLE
        )
        rationales = rated.select(*keys, pl.col("question").alias("about"), pl.col("rationale").alias("text"))
        return pl.concat([given, rationales.cast({"sample": pl.Int64})])

    def beside(self, column: str, source: str = "source") -> pl.Expr:
        """A column for figures, with the model before it where there are several."""
        return pl.col(column) if len(self.sources) < 2 else pl.concat_str(source, pl.lit(" · "), column)

    def _of_items(self, column: str) -> dict[str, str]:
        items = self.corpus.items
        return dict(items.select("item", column).drop_nulls().iter_rows()) if column in items.columns else {}
