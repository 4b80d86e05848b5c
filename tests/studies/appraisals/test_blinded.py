"""Reasons judged blindly: drawn from any models' answers, served by collect, read back; one name for each model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests.studies.appraisals.release import write
from vantage.cli.app import app
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.studies import run
from vantage.studies.appraisals.analysis import INSTRUMENT
from vantage.studies.appraisals.study import read_release, reasons_to_judge

QUICK: dict[str, Any] = {"resamples": 20, "topics": 0, "draws": 1}
QUALITY = {"factuality": (0.0, 1.0), "relevance": (1.0, 5.0), "consistency": (0.0, 1.0), "usefulness": (0.0, 1.0)}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("data") / "release", evaluated=False)
    recorded = folder / "responses_raw" / "chatgpt_seed-1.csv"
    shutil.copy(recorded, recorded.with_name("chatgpt_seed-2.csv"))
    for name in ("alpaca-13b_seed-1", "alpaca-13B_seed-2", "alpaca-native_seed-1", "dolly-v2-12b_seed-1"):
        shutil.copy(recorded, recorded.with_name(f"{name}.csv"))
    return folder


def test_models_have_one_name_however_files_spell_it(release: Path) -> None:
    corpus = read_release(release)
    models = corpus.raters.filter(pl.col("kind").cast(pl.String) == "model")["rater"].sort().to_list()
    assert models == ["alpaca-13B", "alpaca-7B", "chatgpt", "dolly-v2-12B"]
    runs = corpus.judgments.filter(rater="alpaca-13B")["sample"].unique().sort().to_list()
    assert runs == [1, 2]


def test_reasons_are_drawn_for_the_same_posts_and_do_not_tell_who_wrote_them(release: Path) -> None:
    corpus = read_release(release)
    asked = next(one for one in corpus.instruments if one.id == INSTRUMENT)
    drawn = reasons_to_judge(corpus, asked, 12, seed=1).items
    assert drawn.group_by("source").len()["len"].to_list() == [12] * 5
    cells = drawn.group_by("source").agg(pl.struct("reddit_id", "appraisal").sort().alias("cells"))
    assert cells["cells"].n_unique() == 1
    fields = {field.name for field in Instrument.load("rationale-quality").fields}
    assert "source" not in fields
    assert not any(name in item for item in drawn["item"] for name in ("gold", "chatgpt", "alpaca"))
    # Sources are mixed in the order of the ids.
    assert drawn["source"].rle_id().n_unique() > 20


@pytest.mark.slow
def test_a_planted_preference_is_found_when_judgments_come_back(release: Path, tmp_path: Path) -> None:
    first = run("appraisals", data=release, out=tmp_path / "out", evaluate=20, **QUICK)
    assert any("ready to be judged" in warning for warning in first.result.warnings)
    place = tmp_path / "out" / "evaluation"
    checked = CliRunner().invoke(app, ["collect", "check", "flow:reason-check", "--corpus", str(place)])
    assert checked.exit_code == 0, checked.output
    waiting = Corpus.read(place)
    rng = np.random.default_rng(0)
    rows = [
        {"item": item, "question": question, "rater": f"judge-{judge}", "value": ends[int(rng.random() < chance)]}
        for item, source in waiting.items.select("item", "source").iter_rows()
        for chance in [0.95 if source == "chatgpt" else 0.3]
        for question, ends in QUALITY.items()
        for judge in range(2)
    ]
    raters = pl.DataFrame({"rater": ["judge-0", "judge-1"], "kind": "person"})
    judged = waiting.add(pl.DataFrame(rows), raters).write(tmp_path / "judged")
    told = run("appraisals", data=release, out=tmp_path / "again", judged=str(judged), **QUICK)
    frames = {table.name: table.frame for table in told.result.tables}
    means = frames["evaluation"].filter(criterion="factuality")
    assert dict(means.select("source", "estimate").iter_rows())["chatgpt"] > 0.8
    apart = frames["evaluation-differences"].filter(source="chatgpt", criterion="factuality").row(0, named=True)
    assert apart["low"] > 0
    other = frames["evaluation-differences"].filter(source="alpaca-13B", criterion="factuality").row(0, named=True)
    assert other["low"] < 0 < other["high"]
    shown = frames["posts-divided"]
    for _, part in shown.group_by("question", maintain_order=True):
        assert part["disagreement"].to_list() == sorted(part["disagreement"], reverse=True)
    assert shown["reasons"].str.contains("The narrator").all()


@pytest.mark.slow
def test_judgments_of_something_else_are_refused(release: Path, tmp_path: Path) -> None:
    from vantage import demo_corpus

    with pytest.raises(InputError, match="no judgments of texts with their 'source'"):
        run("appraisals", data=release, judged=str(demo_corpus().write(tmp_path / "demo")), **QUICK)
    with pytest.raises(InputError, match="need a folder"):
        run("appraisals", data=release, evaluate=5, **QUICK)
