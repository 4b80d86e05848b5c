"""Tasks of the study: samples with labels in proportion, from releases or from one's own files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vantage import Corpus, Instrument
from vantage.errors import InputError
from vantage.studies.context.tasks import TASKS, chosen_tasks, labels_of, question_of, read_task, sampled, shares_out


def written(folder: Path, name: str, rows: str) -> Path:
    (folder / f"{name}.csv").write_text(rows, encoding="utf-8")
    return folder


def test_all_six_tasks_have_an_instrument_with_context_and_ambiguous() -> None:
    assert len(TASKS) == 6
    for task in TASKS.values():
        assert {"static", "context"} <= set(Instrument.load(task.instrument).conditions)
        assert [out.status for out in question_of(task).scale.opt_outs] == ["ambiguous"]


def test_a_csv_of_ones_own_is_sampled_in_proportion_to_its_labels(tmp_path: Path) -> None:
    labels = [option.name for option in question_of(TASKS["vaccine-stance"]).scale.options]
    rows = "".join(f"statement number {n},{labels[n % 3 if n < 12 else 0]}\n" for n in range(40))
    whole = read_task(written(tmp_path, "vaccine-stance", f"text,label\n{rows}"), TASKS["vaccine-stance"])
    some = sampled(whole, 9, seed=1)
    assert dict(some.items["label"].value_counts().iter_rows()) == {labels[0]: 7, labels[1]: 1, labels[2]: 1}
    assert some.items["item"][0].startswith("vaccine-stance-")
    assert sampled(whole, 9, seed=1) == some
    assert sampled(whole, 9, seed=2) != some
    short = sampled(whole, 30, seed=1)
    assert dict(short.items["label"].value_counts().iter_rows()) == {labels[0]: 24, labels[1]: 3, labels[2]: 3}
    told = labels_of(some.items)
    assert set(told["question"]) == {question_of(TASKS["vaccine-stance"]).id}
    assert told["value"].null_count() == 0


def test_empty_unlabelled_and_repeated_statements_are_left_out(tmp_path: Path) -> None:
    rows = "text,label\nWell done.,positive\n ,negative\nwell  done!,negative\nSad.,\nMeh.,neutral\n"
    whole = read_task(written(tmp_path, "tweet-sentiment", rows), TASKS["tweet-sentiment"])
    assert whole.items["text"].to_list() == ["Well done.", "Meh."]


def test_a_corpus_folder_brings_its_votes(tmp_path: Path) -> None:
    question = question_of(TASKS["emotion-sentiment"])
    corpus = Corpus(
        pl.DataFrame({"item": ["a", "b"], "text": ["Yes!", "No."], "label": ["positive", "negative"]}),
        pl.DataFrame({"rater": ["ann"], "kind": ["person"]}),
        pl.DataFrame(
            {"item": ["a"], "question": [question.id], "rater": ["ann"], "condition": ["static"], "value": [1]}
        ),
        Instrument.load("sentiment"),
    )
    corpus.write(tmp_path / "emotion-sentiment")
    whole = read_task(tmp_path, TASKS["emotion-sentiment"])
    assert whole.judgments["item"].to_list() == ["emotion-sentiment-a"]
    assert set(whole.items["task"]) == {"emotion-sentiment"}


def test_labels_that_do_not_match_the_instrument_are_named_with_their_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"abortion-stance\.csv, row 2, column 'label': 'maybe' is not an answer"):
        read_task(written(tmp_path, "abortion-stance", "text,label\nx,against\ny,maybe\n"), TASKS["abortion-stance"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [("text,stance\nx,against\n", "no column 'label'"), ("", "the file is empty")],
)
def test_files_that_are_no_task_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_task(written(tmp_path, "abortion-stance", rows), TASKS["abortion-stance"])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data of the task 'abortion-stance'"):
        read_task(tmp_path, TASKS["abortion-stance"])
    with pytest.raises(InputError, match="did you mean 'sarcasm'"):
        chosen_tasks("sarcsm")
    with pytest.raises(InputError, match="no task was named"):
        chosen_tasks(" , ")
    whole = read_task(
        written(tmp_path, "abortion-stance", "text,label\nx,against\ny,favoring\n"), TASKS["abortion-stance"]
    )
    with pytest.raises(InputError, match="too few"):
        sampled(whole, 1, 0)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=6), st.integers(2, 600))
def test_every_label_has_its_share_and_at_least_one(counts: list[int], size: int) -> None:
    found = shares_out(counts, size)
    total = sum(counts)
    assert sum(found) == min(total, max(size, len(counts)))
    for count, drawn in zip(counts, found, strict=True):
        assert 1 <= drawn <= count
        if min(size * one / total for one in counts) >= 1:
            assert abs(drawn - size * count / total) < 1 or size >= total


@pytest.mark.data
def test_the_releases_give_samples_in_proportion_and_votes(data_dir: Path) -> None:
    data = data_dir / "social-cognition"
    sarcasm = sampled(read_task(data, TASKS["sarcasm"]), 120, 0)
    # Of the 1,400 test tweets, 200 are sarcastic to their authors.
    assert dict(sarcasm.items["label"].value_counts().iter_rows()) == {"yes": 17, "no": 103}
    assert len(sarcasm.judgments) == 600
    polite = sampled(read_task(data, TASKS["politeness"]), 120, 0)
    assert dict(polite.items["label"].value_counts().iter_rows()) == {"yes": 60, "no": 60}
    assert polite.judgments.is_empty()
