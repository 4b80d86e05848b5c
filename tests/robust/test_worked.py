"""The worked examples of docs/robust.md, on published data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

from vantage import Corpus, Instrument, Scale
from vantage.corpora.readers import load
from vantage.robust import Alternative, Conclusion, Universe, risks, robust

MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")


def framing(folder: Path) -> Corpus:
    """116 news articles, 22 questions, four people and six models (Calderon et al. 2025)."""
    codes = {"yes": 1.0, "no": 0.0}
    rows = [
        (*key.rsplit("__", 1), rater, kind, codes[label])
        for file, kind in (("human_annotations", "person"), ("llm_annotations", "model"))
        for rater, labels in json.loads((folder / f"{file}.json").read_text("utf-8")).items()
        for key, label in labels.items()
        if label in codes
    ]
    table = pl.DataFrame(rows, schema=["item", "question", "rater", "kind", "value"], orient="row")
    year = pl.col("item").str.split("--").list.get(1).str.slice(0, 4).cast(pl.Int64)
    era = pl.when(year >= 2018).then(pl.lit("since 2018")).otherwise(pl.lit("before")).alias("era")
    items = table.select("item").unique().sort("item").with_columns(era)
    raters = table.select("rater", "kind").unique().sort("rater")
    scales = dict.fromkeys(table["question"].unique().sort().to_list(), Scale.labels("no", "yes"))
    return Corpus(items, raters, table.drop("kind"), Instrument.of_questions("framing", "Climate framing", scales))


@pytest.mark.slow
def test_whether_framing_changed_depends_on_who_labelled(data_dir: Path) -> None:
    corpus = framing(data_dir / "people-and-models" / "framing")
    whose = {"people": Alternative(), **{one: Alternative(where={"rater": [one]}) for one in MODELS}}
    options = {"between": "era", "values": ["since 2018", "before"], "ci": "items"}
    verdicts: dict[str, set[str]] = {}
    for question in ("re2", "hi5", "mo1"):
        made = robust(
            corpus, Conclusion.of("prevalence", options, {"question": [question]}), Universe(choices={"whose": whose})
        )
        differ = made.specifications.filter(pl.col("verdict").is_in(["above", "below"]))
        verdicts[question] = set(differ["whose"])
        assert made.same < 1.0
        assert made.joint is not None
        assert made.joint.any_null > 0.15
    assert verdicts["re2"] == {"people", "gpt-4o", "gpt-4o-mini"}
    assert verdicts["hi5"] == {"people", "gemini_pro", "gpt-4o", "gpt-4o-mini"}
    assert verdicts["mo1"] == {"mistral-v03"}


@pytest.mark.slow
def test_two_of_22_hypotheses_hold_by_the_majority_and_fishers_test(data_dir: Path) -> None:
    """The figures of the data's own description, which no measure of ours computes."""
    corpus = framing(data_dir / "people-and-models" / "framing")
    labels = corpus.with_columns_of(["kind", "era"]).with_columns(pl.col("kind").cast(pl.String))
    centre = (pl.col("value").mean() > 0.5).alias("yes")

    def significant(part: pl.DataFrame) -> set[str]:
        votes = part.group_by("item", "question", "era").agg(centre)
        counts = votes.group_by("question", "era").agg(pl.col("yes").sum(), (~pl.col("yes")).sum().alias("no"))
        tables = counts.partition_by("question", as_dict=True)
        return {
            str(name) for (name,), one in tables.items() if fisher_exact(one.select("yes", "no").to_numpy())[1] < 0.05
        }

    people = significant(labels.filter(kind="person"))
    assert people == {"re2", "re5"}
    changed = {}
    for model in MODELS:
        found_by_model = significant(labels.filter(rater=model))
        changed[model] = len(found_by_model - people), len(people - found_by_model)
    assert changed["gpt-4o"] == (1, 0)
    assert changed["gpt-4o-mini"] == (3, 1)
    assert changed["mistral-v03"] == (5, 2)


@pytest.mark.slow
def test_a_model_that_finds_too_much_polite_is_seen_by_a_part_of_peoples_labels(data_dir: Path) -> None:
    table = pl.read_csv(data_dir / "cdi" / "politeness_dataset.csv").with_row_index("n")
    items = table.select(pl.format("r{}", "n").alias("item"))
    people = pl.DataFrame(
        {"item": items["item"], "rater": "people", "value": table["Prediction_human"].cast(pl.Float64)}
    )
    polite = (table["Prediction_gpt-4o"] == "polite").cast(pl.Float64)
    model = pl.DataFrame({"item": items["item"], "rater": "gpt-4o", "value": polite})
    part = people[np.sort(np.random.default_rng(0).permutation(len(people))[:500]).tolist()]
    judgments = pl.concat([part, model]).with_columns(question=pl.lit("polite"))
    raters = pl.DataFrame({"rater": ["people", "gpt-4o"], "kind": ["slot", "model"]})
    instrument = Instrument.of_questions("politeness", "Politeness", {"polite": Scale.labels("no", "yes")})
    corpus = Corpus(items, raters, judgments, instrument)
    made = risks(corpus, Conclusion.of("prevalence", reference=0.6))
    assert made is not None
    row = made.table.filter(configuration="gpt-4o").row(0, named=True)
    # People: .500, the model .735: the conclusion from all labels of the model has the wrong sign.
    assert (row["verdict"], row["powered_verdict"]) == ("above", "below")
    assert row["wrong_sign"] > 0.8
    assert row["powered_high"] - row["powered_low"] < 0.085
    assert 1.0 <= row["more"] < 1.5


@pytest.mark.slow
def test_whether_models_agree_depends_on_how_they_are_asked(data_dir: Path) -> None:
    corpus = load("response-bias", data_dir / "response-bias").filter(condition="acquiescence")
    claim = Conclusion.of(
        "prevalence",
        {"value": 1.0, "ci": "items"},
        {"rater": ["gpt-3.5-turbo"], "question": ["agreement"]},
        reference=0.5,
    )
    universe = Universe().varied(claim, corpus, "presentation").varied(claim, corpus, "rater")
    made = robust(corpus, claim, universe)
    assert len(made.specifications) == 6
    assert made.overturned["changes"].to_list() == [2]
    shares = dict(made.importance.select("decision", "share").iter_rows())
    assert shares["presentation"] > 0.3
    assert shares["rater"] > 0.3
