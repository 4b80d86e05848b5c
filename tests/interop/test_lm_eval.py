"""Tasks of the harness. That `lm_eval run` runs them was seen with lm_eval 0.4.13."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from vantage import Corpus, InputError, demo_corpus, export

KEYS = {
    *("task", "custom_dataset", "dataset_kwargs", "test_split", "output_type", "description", "doc_to_text"),
    *("doc_to_target", "doc_to_choice", "process_results", "metric_list", "num_fewshot", "metadata"),
    *("generation_kwargs", "fewshot_config"),
}
"""Keys of `lm_eval.config.task.TaskConfig` that are written."""


class Loader(yaml.SafeLoader):
    """Reads `!function` as the harness does: a name inside a module beside the file."""


Loader.add_constructor("!function", lambda loader, node: f"function {loader.construct_scalar(node)}")  # type: ignore[arg-type]


def config(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(file.read_text("utf-8"), Loader)  # noqa: S506 - a safe loader
    return found


def scores(folder: Path) -> dict[str, Any]:
    """The functions of `people.py`, without the library that loads the documents."""
    found: dict[str, Any] = {}
    code = (folder / "people.py").read_text("utf-8").replace("from datasets import Dataset", "")
    exec(compile(code, "people", "exec"), found)  # noqa: S102
    return found


def test_a_task_per_question_and_a_group(tmp_path: Path) -> None:
    folder = export(demo_corpus(), "lm-eval", tmp_path / "tasks")
    group = config(folder / "warmth_competence.yaml")
    assert group["task"] == [f"warmth_competence_{q}" for q in ("trust", "sociability", "competence")]
    for name in group["task"]:
        task = config(folder / f"{name}.yaml")
        assert set(task) <= KEYS
        assert (task["output_type"], task["description"], task["doc_to_text"]) == ("generate_until", "system", "prompt")
        assert task["process_results"] == "function people.generated"
        documents = [json.loads(line) for line in (folder / task["dataset_kwargs"]["file"]).read_text().splitlines()]
        assert len(documents) == 30
        assert {task[key] for key in ("description", "doc_to_text", "doc_to_target")} <= set(documents[0])


def test_scoring_becomes_multiple_choice(tmp_path: Path) -> None:
    folder = export(demo_corpus(), "lm-eval", tmp_path / "tasks", style="scoring", question="trust")
    task = config(folder / "warmth_competence_trust.yaml")
    assert set(task) <= KEYS
    assert task["output_type"] == "multiple_choice"
    assert task["doc_to_choice"] == ["-3", "-2", "-1", "0", "1", "2", "3"]
    assert not (folder / "warmth_competence.yaml").exists()
    document = json.loads((folder / "warmth_competence_trust.jsonl").read_text().splitlines()[0])
    chances = [(-5.0, False)] * 6 + [(-1.0, True)]
    told = scores(folder)["compared"](document, chances)
    assert told["answered"] == 1.0
    assert told["share"] == document["counts"][6] / sum(document["counts"])
    assert told["majority"] == float(document["counts"][6] == max(document["counts"]))


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    folder = export(demo_corpus(), "lm-eval", tmp_path / "tasks", question="trust")
    generated = scores(folder)["generated"]
    document = {"words": ["no", "yes"], "range": [], "counts": [0, 0]}
    assert generated(document, ["yes"]) == {"answered": 1.0}
    assert generated(document, ["perhaps"]) == {"answered": 0.0}
    assert generated({**document, "counts": [1, 3]}, ["no"]) == {"answered": 1.0, "majority": 0.0, "share": 0.25}
    assert generated({"words": [], "range": [0.0, 1.0], "counts": []}, ["0.5"]) == {"answered": 1.0}


def test_worked_examples_stand_in_the_task(tmp_path: Path) -> None:
    folder = export(demo_corpus(), "lm-eval", tmp_path / "tasks", style="few-shot:2+json", question="trust")
    task = config(folder / "warmth_competence_trust.yaml")
    shots = task["fewshot_config"]["samples"]
    assert task["num_fewshot"] == len(shots) == 2
    assert all(json.loads(shot["target"])["answer"] in range(-3, 4) for shot in shots)
    assert task["fewshot_config"]["sampler"] == "first_n"


def test_an_item_that_is_an_example_is_told(tmp_path: Path) -> None:
    demo = demo_corpus()
    examples = demo.instruments[0].examples
    rows = [{"item": f"x{n}", **{k: str(v) for k, v in one.item.items()}} for n, one in enumerate(examples)]
    items = pl.concat([demo.items, pl.DataFrame(rows)], how="diagonal_relaxed")
    more = Corpus(items, demo.raters, demo.judgments, demo.instruments)
    count = len(examples) - 1
    with pytest.raises(InputError, match="itself a worked example"):
        export(more, "lm-eval", tmp_path / "tasks", style=f"few-shot:{count}", question="trust")


def test_templates_in_texts_stay_texts(tmp_path: Path) -> None:
    hostile = "{{ 7*7 }} {% raise %} !!python/object:os.system"
    demo = demo_corpus()
    items = demo.items.with_columns(pl.lit(hostile).alias("text"))
    folder = export(Corpus(items, demo.raters, demo.judgments, demo.instruments), "lm-eval", tmp_path / "t")
    for file in folder.glob("*.yaml"):
        assert "7*7" not in file.read_text()
    line = (folder / "warmth_competence_trust.jsonl").read_text().splitlines()[0]
    assert hostile in json.loads(line)["prompt"]
