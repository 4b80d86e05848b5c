"""The folder of an Inspect task. That `inspect eval` runs it was seen with inspect_ai 0.3.285."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from vantage import Corpus, InputError, Instrument, Scale, demo_corpus, export

HOSTILE = '"""\nimport os; os.abort()\n"""'
SAMPLE = {"id", "input", "target", "metadata"}
"""Fields of `inspect_ai.dataset.Sample` that are written."""


def names(code: str) -> dict[str, Any]:
    """The parts of the task file that need no Inspect."""
    tree = ast.parse(code)
    wanted = ("read_answer", "_plain", "_number")
    kept: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    found: dict[str, Any] = {"json": json}
    exec(compile(ast.Module(kept, []), "task", "exec"), found)  # noqa: S102
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(demo_corpus(), "inspect", tmp_path_factory.mktemp("inspect") / "task")


@pytest.fixture(scope="module")
def read(folder: Path) -> Callable[..., str | None]:
    found: Callable[..., str | None] = names((folder / "task.py").read_text("utf-8"))["read_answer"]
    return found


def test_there_is_one_sample_per_item_and_question(folder: Path) -> None:
    samples = [json.loads(line) for line in (folder / "dataset.jsonl").read_text("utf-8").splitlines()]
    assert len(samples) == 90
    assert len({sample["id"] for sample in samples}) == 90
    first = samples[0]
    assert set(first) == SAMPLE
    assert [message["role"] for message in first["input"]] == ["system", "user"]
    told = first["metadata"]
    assert told["item"] == "s01"
    assert told["words"] == ["-3", "-2", "-1", "0", "1", "2", "3"]
    assert sum(told["people"].values()) == len(
        demo_corpus().filter(item="s01", question="trust").judgments.drop_nulls("value")
    )
    assert first["target"] == [word for word, n in told["people"].items() if n == max(told["people"].values())]
    assert told["shown"]["text"].startswith("The baker")


def test_the_task_says_what_was_asked(folder: Path) -> None:
    told = json.loads((folder / "instrument.json").read_text("utf-8"))
    assert Instrument.from_document(yaml.safe_load(told["instrument"])) == demo_corpus().instruments[0]
    assert told["style"] == "zero-shot"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("2", "2"),
        (" **+2** ", "2"),
        ("−3.", "-3"),
        ("It is warm.\nAnswer: 1", "1"),
        ('{"reason": "x", "answer": -1}', "-1"),
        ("4", None),
        ("I think 2 or 3", None),
        ("", None),
        ("nan", None),
    ],
)
def test_replies_are_read_strictly(read: Callable[..., str | None], reply: str, answer: str | None) -> None:
    assert read(reply, ["-3", "-2", "-1", "0", "1", "2", "3"], []) == answer


def test_words_and_ranges_are_read(read: Callable[..., str | None]) -> None:
    assert read('"Not mentioned".', ["no", "not mentioned"], []) == "not mentioned"
    assert read("0.25", [], [0, 1]) == "0.25"
    assert read("7", [], [0, 1]) is None


def test_no_word_of_an_instrument_or_an_item_becomes_code(tmp_path: Path) -> None:
    bad = Corpus(
        items=pl.DataFrame({"item": [HOSTILE], "text": [HOSTILE]}),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame({"item": [HOSTILE], "question": "q", "rater": ["r"], "value": [1.0]}),
        instruments=Instrument.of_questions("import", HOSTILE, {"q": Scale.labels("no", HOSTILE)}),
    )
    code = (export(bad, "inspect", tmp_path / "task") / "task.py").read_text("utf-8")
    ast.parse(code)
    assert "os.abort" not in code
    assert '@task(name="import")' in code


def test_an_empty_corpus_and_styles_without_a_place_are_refused(tmp_path: Path) -> None:
    demo = demo_corpus()
    with pytest.raises(InputError, match="no items"):
        export(
            Corpus(demo.items.clear(), demo.raters, demo.judgments.clear(), demo.instruments), "inspect", tmp_path / "a"
        )
    with pytest.raises(InputError, match="no place for the style 'scoring'"):
        export(demo, "inspect", tmp_path / "b", style="scoring")
    with pytest.raises(InputError, match="writer 'inspect' has no option 'stile'; did you mean 'style'"):
        export(demo, "inspect", tmp_path / "c", stile="x")
    assert list(tmp_path.iterdir()) == []
