from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from vantage.errors import InputError
from vantage.raters.models import Message, ModelError, Request, load_model


def ask(item: str, question: str = "warmth", sample: int = 0) -> Request:
    return Request((Message("user", f"About {item}"),), tag=(item, question, sample))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_replies_are_found_by_item_and_question(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {
            "item": ["a", "a", "b"],
            "question": ["warmth", "trust", "warmth"],
            "reply": ["4", "I trust it", None],
        }
    )
    path = tmp_path / f"replies.{suffix}"
    match suffix:
        case "csv":
            frame.write_csv(path)
        case "jsonl":
            frame.write_ndjson(path)
        case "json":
            path.write_text(json.dumps(frame.to_dicts()))
        case _:
            frame.write_parquet(path)
    model = load_model(f"recorded:{path}")
    found = model.complete([ask("a", "trust"), ask("a"), ask("b"), ask("c"), ask("a", sample=1)])
    assert [reply.text for reply in found] == ["I trust it", "4", "", "", ""]
    assert [reply.finish for reply in found] == ["stop", "stop", "stop", "failed", "failed"]
    assert found[3].error == "No reply to item 'c', question 'warmth', sample 0 was recorded."


def test_further_rows_are_further_samples(tmp_path: Path) -> None:
    path = tmp_path / "replies.csv"
    path.write_text("item,question,reply\na,warmth,4\na,warmth,5\nb,warmth,1\n")
    model = load_model(f"recorded:{path}")
    assert [c.text for c in model.complete([ask("a", sample=1), ask("a"), ask("b")])] == ["5", "4", "1"]


def test_samples_may_be_numbered_and_columns_named_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "replies.csv"
    path.write_text("post,dimension,run,answer\n7,warmth,1,late\n7,warmth,0,early\n")
    model = load_model(f"recorded:{path}", item="post", question="dimension", sample="run", reply="answer")
    assert [c.text for c in model.complete([ask("7"), ask("7", sample=1)])] == ["early", "late"]


def test_replies_are_found_by_prompt_whatever_its_white_space(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    rows = [
        {"prompt": "Rate this.\n\nA  lovely day", "reply": "whole chat"},
        {"prompt": "A dull day", "reply": "last message"},
        {"prompt": "A dull day", "reply": "once more"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    model = load_model(f"recorded:{path}")
    rate = Message("system", "Rate this.")
    requests = [
        Request((rate, Message("user", "A lovely day"))),
        Request((rate, Message("user", "A dull day"))),
        Request((rate, Message("user", "A dull day")), tag=("x", "y", 1)),
        Request((rate, Message("user", "A day"))),
    ]
    found = model.complete(requests)
    assert [reply.text for reply in found] == ["whole chat", "last message", "once more", ""]
    assert found[3].error == "No reply to sample 0 of this prompt was recorded."


def test_bad_tables_are_told(tmp_path: Path) -> None:
    path = tmp_path / "replies.csv"
    with pytest.raises(InputError, match="no such file"):
        load_model(f"recorded:{path}")
    path.write_text("item,question,text\na,b,c\n")
    with pytest.raises(InputError, match="no column 'reply' for the replies"):
        load_model(f"recorded:{path}")
    path.write_text("item,reply\na,c\n")
    with pytest.raises(InputError, match="no column 'question'"):
        load_model(f"recorded:{path}")
    path.write_text("item,question,sample,reply\na,b,0,c\na,b,0,d\n")
    with pytest.raises(InputError, match=r"row 3: sample 0 of what is asked here is given twice"):
        load_model(f"recorded:{path}")
    path.write_text("item,question,sample,reply\na,b,first,c\n")
    with pytest.raises(InputError, match="'first' is not a number"):
        load_model(f"recorded:{path}")


def test_replies_have_no_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "replies.csv"
    path.write_text("item,question,reply\na,warmth,4\n")
    model = load_model(f"recorded:{path}")
    with pytest.raises(ModelError, match="no probabilities"):
        model.score([ask("a")], ["1", "2"])
    assert (model.window, model.notes, model.count_tokens("one two")) == (None, [], 2)
