"""Shared tasks from released files to submissions: read, checked, scored, written, ranked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import vantage
from tests.raters.models.endpoint import Endpoint
from tests.report.truth import check_all
from vantage import InputError
from vantage.cli.app import app
from vantage.errors import Problems
from vantage.interop.benchmark import read_predictions
from vantage.interop.submissions import SharedTask, read_submission, read_system, task_baseline, tasks, write_submission
from vantage.perspective import shared_task
from vantage.report.folder import Report

RUN = CliRunner()
LABELS = ("contradiction", "entailment", "neutral")


def nli(rng: np.random.Generator, split: str) -> dict[str, Any]:
    """An invented file of VariErrNLI: whose statements have a telling word, and an annotator who likes neutral."""
    items = {}
    for key in range(12):
        truth = LABELS[rng.integers(3)]
        chosen = {f"Ann{n}": truth if rng.random() < 0.8 else LABELS[rng.integers(3)] for n in range(1, 5)}
        if chosen["Ann4"] != "neutral":
            chosen["Ann4"] += ",neutral"
        given = [label for labels in chosen.values() for label in labels.split(",")]
        shares = {label: np.mean([label in c.split(",") for c in chosen.values()]) for label in LABELS}
        items[f"{key}"] = {
            "text": {"context": "It rained all day.", "statement": f"{truth} {key}"},
            "annotators": ",".join(n for n, labels in chosen.items() for _ in labels.split(",")),
            "annotations": chosen,
            "soft_label": {label: {"0": 1 - share, "1": share} for label, share in shares.items()},
            "split": split,
            "lang": "en",
            "other_info": {"explanations": ["because"] * len(given)},
        }
    return items


def ratings(rng: np.random.Generator, split: str, first: int) -> dict[str, Any]:
    """An invented file of Paraphrase."""
    items = {}
    for key in range(first, first + 12):
        truth = int(rng.choice([-4, 4]))
        values = np.clip(truth + rng.integers(-1, 2, size=4), -5, 5)
        items[f"{key}"] = {
            "text": {"Question1": f"Is {'this' if truth > 0 else 'that'} so?", "Question2": f"Is it {key}?"},
            "annotators": "Ann1,Ann2,Ann3,Ann4",
            "annotations": {f"Ann{n}": f"{value}" for n, value in enumerate(values, 1)},
            "soft_label": {f"{step}": float(np.mean(values == step)) for step in range(-5, 6)},
            "split": split,
            "lang": "en",
            "other_info": {"explanations": ["because"] * 4},
        }
    return items


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lewidi") / "2025"
    rng = np.random.default_rng(0)
    person = {"Gender": "Female", "Age": "30", "Nationality": "German", "Education": "postdoc"}
    for stem in ("Paraphrase", "VariErrNLI"):
        (folder / stem).mkdir(parents=True)
        for n, split in enumerate(("train", "test")):
            data = nli(rng, split) if stem == "VariErrNLI" else ratings(rng, split, 12 * n)
            (folder / stem / f"{stem}_{split}.json").write_text(json.dumps(data))
        meta = {f"Ann{n}": person | {"Age": f"{20 + n}"} for n in range(1, 5)}
        (folder / stem / f"{stem}_annotators_meta.json").write_text(json.dumps(meta))
    return folder


@pytest.fixture(scope="module")
def chosen(released: Path) -> dict[str, SharedTask]:
    return tasks(released)


POINTS = {"CSC": 6, "Paraphrase": 11}


def by_hand(released: Path, stem: str, submission: Path, evaluation: str, part: str = "test") -> float:
    """The organisers' scores, written down from their description; lists are compared as far as both reach."""
    data = json.loads((released / stem / f"{stem}_{part}.json").read_text())
    lines = [line.split("\t") for line in submission.read_text().splitlines()]
    said = {key: json.loads(values) for key, values in lines}
    lost = []
    gold: list[Any]
    for key, item in data.items():
        if stem in POINTS and evaluation == "soft":
            target = np.array(list(item["soft_label"].values()))
            lost.append(np.abs(np.cumsum(target - np.array(said[key]) * target.sum())[:-1]).sum())
        elif stem in POINTS:
            gold = [int(value) for value in item["annotations"].values()]
            lost.append(np.mean([abs(a - b) for a, b in zip(gold, said[key], strict=True)]) / POINTS[stem])
        elif evaluation == "soft":
            gold = [list(item["soft_label"][label].values()) for label in LABELS] if stem == "VariErrNLI" else []
            pairs = zip(gold, said[key], strict=True) if gold else [(list(item["soft_label"].values()), said[key])]
            lost.append(np.mean([np.abs(np.subtract(a, b)).sum() for a, b in pairs]))
        else:
            given = item["annotations"].values()
            gold = [[int(label in c.split(",")) for c in given] for label in LABELS]
            pairs = zip(gold, said[key], strict=True)
            if stem == "MP":
                pairs = zip([[int(float(c)) for c in given]], [said[key]], strict=True)
            lost.append(np.mean([np.mean([x != y for x, y in zip(a, b, strict=False)]) for a, b in pairs]))
    return float(np.mean(lost))


@pytest.mark.parametrize("method", ["random", "tfidf-users"])
def test_a_baseline_is_written_and_scored_as_the_organisers_do(
    released: Path, chosen: dict[str, SharedTask], tmp_path: Path, method: str
) -> None:
    for name, task in chosen.items():
        files = write_submission(task, task_baseline(task, method), tmp_path)
        assert [file.name for file in files] == [f"{name}_test_soft.tsv", f"{name}_test_pe.tsv"]
        for file, evaluation in zip(files, ("soft", "perspectivist"), strict=True):
            row = task.score(read_submission(task, file, evaluation)[0], evaluation).row(0, named=True)
            assert row["score"] == pytest.approx(by_hand(released, name, file, evaluation), abs=1e-6)
            assert row["task"] == name
            assert row["ceiling"] < row["floor"]
            if method == "tfidf-users":
                assert row["skill"] > 0.3
            else:
                assert row["skill"] < 0.1


def changed(path: Path, change: Callable[[list[str]], list[str]]) -> Path:
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[1:], "1 of 12 items are missing, such as '12'"),
        (lambda lines: [*lines, lines[0]], "line 13: item '12' is there twice"),
        (lambda lines: ["99" + lines[0][2:], *lines[1:]], "line 1: '99' is no item of Paraphrase_test"),
        (lambda lines: ["12\t[1, 2]", *lines[1:]], "line 1, item '12': a list should have 4 numbers"),
        (lambda lines: ["12\t[1, 2, 3, 6]", *lines[1:]], "has a label that is off the scale"),
        (lambda lines: ["12\t[1, 2, 3, None]", *lines[1:]], "a list should have 4 numbers"),
        (lambda lines: ["12 [1, 2, 3, 4]", *lines[1:]], "line 1 is not an id, a tab and a list of numbers"),
        (lambda lines: ["12\t__import__('os')", *lines[1:]], "line 1 is not an id, a tab and a list of numbers"),
    ],
)
def test_a_faulty_submission_is_told_line_by_line(
    chosen: dict[str, SharedTask], tmp_path: Path, change: Callable[[list[str]], list[str]], told: str
) -> None:
    task = chosen["Paraphrase"]
    _, path = write_submission(task, task_baseline(task, "random"), tmp_path)
    with pytest.raises(Problems) as caught:
        read_submission(task, changed(path, change), "perspectivist")
    assert told in str(caught.value)


def test_a_distribution_must_add_up(chosen: dict[str, SharedTask], tmp_path: Path) -> None:
    task = chosen["Paraphrase"]
    path, _ = write_submission(task, task_baseline(task, "marginal"), tmp_path)
    half = changed(path, lambda lines: [f"12\t{[0.5] + [0.0] * 10}", *lines[1:]])
    with pytest.raises(Problems, match="is not a distribution"):
        read_submission(task, half, "soft")


def test_lists_with_an_entry_per_label_are_read_as_the_organisers_scorer_reads_them(
    chosen: dict[str, SharedTask], tmp_path: Path
) -> None:
    task = chosen["VariErrNLI"]
    _, path = write_submission(task, task_baseline(task, "random"), tmp_path)
    before, _ = read_submission(task, path, "perspectivist")

    def longer(lines: list[str]) -> list[str]:
        key, _, values = lines[0].partition("\t")
        return [f"{key}\t{[[*one, 1] for one in json.loads(values)]}", *lines[1:]]

    after, notes = read_submission(task, changed(path, longer), "perspectivist")
    assert after.equals(before)
    assert "1 lists are longer than the annotators" in notes[0]


def test_what_is_not_there_is_named(released: Path, chosen: dict[str, SharedTask], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no submission file"):
        read_system(tmp_path, chosen)
    with pytest.raises(InputError, match="there is no data set 'CSC'"):
        tasks(released, only="CSC")
    with pytest.raises(InputError, match="there is no part 'tset'"):
        tasks(released, "tset")
    with pytest.raises(InputError, match="no data set has the part 'dev'"):
        tasks(released, "dev")
    table = tmp_path / "a.csv"
    table.write_text("item,rater,value\n12,Ann1,0\n")
    with pytest.raises(InputError, match="a table has predictions for one task"):
        read_system(table, chosen)
    task = chosen["Paraphrase"]
    nothing = task.pairs["paraphrase"].with_columns(value=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(InputError, match="some pairs have no prediction"):
        write_submission(task, nothing, tmp_path)


def run(*arguments: object) -> str:
    result = RUN.invoke(app, ["perspective", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_path_of_a_participant(released: Path, tmp_path: Path) -> None:
    for method in ("tfidf-users", "random"):
        written = run("baseline", released, "--method", method, "--to", tmp_path / method)
        assert len(written.splitlines()) == 4
    rows = json.loads(run("score", tmp_path / "tfidf-users", "--data", released, "--json", "--proper"))
    assert {(row["task"], row["evaluation"]) for row in rows if row["evaluation"] != "proper"} == {
        (task, kind) for task in ("Paraphrase", "VariErrNLI") for kind in ("soft", "perspectivist")
    }
    assert all({"score", "low", "high", "floor", "ceiling", "skill"} <= set(row) for row in rows)
    systems = [f"ours={tmp_path / 'tfidf-users'}", f"coin={tmp_path / 'random'}"]
    board = json.loads(run("leaderboard", *systems, "--data", released, "--json"))
    assert {row["task"] for row in board} == {"Paraphrase", "VariErrNLI", "all"}
    assert all(row["place"] is None for row in board if row["system"] == "coin")
    assert not any(row["system"] == "coin" for row, before in zip(board, [{}, *board], strict=False)
                   if before.get("task") != row["task"])  # fmt: skip
    assert all(row["skill"] > 0 for row in board if row["system"] == "ours")
    task = tasks(released, only="Paraphrase")["Paraphrase"]
    task.pairs["paraphrase"].write_csv(tmp_path / "right.csv")
    run("submit", tmp_path / "right.csv", "--data", released, "--task", "Paraphrase", "--to", tmp_path / "right")
    rows = json.loads(run("score", tmp_path / "right", "--data", released, "--json", "--divisor", "steps"))
    assert [row["score"] for row in rows] == [0.0, 0.0]
    alone = json.loads(run("score", tmp_path / "right.csv", "--data", released, "--task", "Paraphrase", "--json"))
    assert [(row["evaluation"], row["score"]) for row in alone] == [("perspectivist", 0.0)]
    bad = RUN.invoke(app, ["perspective", "score", str(tmp_path / "right"), "--data", str(released), "--divisor", "5"])
    assert "available: points, steps" in str(bad.exception)


def test_a_model_is_asked_with_and_without_what_users_said_before(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "invented")
    with Endpoint(lambda body: "4") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        common = ["baseline", released, "--task", "Paraphrase", "--model", "openai:tester"]
        run(*common, "--to", tmp_path / "plain")
        assert len(endpoint.requests) == 12
        run(*common, "--to", tmp_path / "plain", "--corpus", tmp_path / "corpora")
        assert len(endpoint.requests) == 12, "replies are kept"
        run(*common, "--history", "2", "--to", tmp_path / "history")
    # Users who gave the same answers to the texts that are shown share a prompt.
    assert 12 + 12 * 3 < len(endpoint.requests) <= 12 + 12 * 4
    shown = [m for m in endpoint.requests[-1]["messages"] if m["role"] == "user"]
    assert len(shown) == 3
    lines = (tmp_path / "history" / "Paraphrase_test_pe.tsv").read_text().splitlines()
    assert all(line.endswith("[4, 4, 4, 4]") for line in lines)
    stored = vantage.Corpus.read(tmp_path / "corpora" / "Paraphrase")
    assert set(stored.raters["rater"]) == {
        person for n in range(1, 5) for person in (f"Ann{n}", f"openai:tester/@Ann{n}")
    }
    assert set(stored.items["split"]) == {"test"}
    again = read_predictions(tmp_path / "corpora" / "Paraphrase", stored, "paraphrase")
    assert shared_task(again, stored)["score"].to_list() == pytest.approx(
        [row["score"] for row in json.loads(run("score", tmp_path / "plain", "--data", released, "--json"))]
        + shared_task(again, stored)["score"].to_list()[2:]
    )


def test_what_a_model_did_not_answer_is_filled_in_and_counted(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "invented")
    with Endpoint(lambda body: "-5" if "Is this so?" in str(body) else "I cannot say.") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        common = ["perspective", "baseline", str(released), "--task", "Paraphrase", "--model", "openai:tester"]
        result = RUN.invoke(app, [*common, "--to", str(tmp_path)])
    task = tasks(released, only="Paraphrase")["Paraphrase"]
    unread = sum("that" in text for text in task.corpus.items.filter(split="test")["question_1"])
    assert 0 < unread < 12
    assert (
        f"{4 * unread} of 48 replies could not be read; the shares of answers in training replace them" in result.output
    )
    softs = dict(line.split("\t") for line in (tmp_path / "Paraphrase_test_soft.tsv").read_text().splitlines())
    usual = task_baseline(task, "marginal")["probabilities"][0].to_list()
    assert sum(json.loads(one) == pytest.approx(usual) for one in softs.values()) == unread
    bad = RUN.invoke(app, ["perspective", "baseline", str(released), "--history", "2", "--to", str(tmp_path / "x")])
    assert "--history and --scoring are for a model" in str(bad.exception)


@pytest.mark.slow
def test_an_encoder_is_a_baseline_too(chosen: dict[str, SharedTask]) -> None:
    pytest.importorskip("torch")
    task = chosen["Paraphrase"]
    told = task_baseline(task, "encoder", settings={"epochs": 1})
    assert told.select("item", "rater").equals(task.pairs["paraphrase"].select("item", "rater"))
    assert np.allclose(np.array(told["probabilities"].to_list()).sum(axis=1), 1)


@pytest.mark.slow
def test_the_leaderboard_page(released: Path, tmp_path: Path) -> None:
    for method in ("tfidf-users", "random"):
        run("baseline", released, "--method", method, "--to", tmp_path / method)
    systems = [f"ours={tmp_path / 'tfidf-users'}", f"coin={tmp_path / 'random'}"]
    run("leaderboard", *systems, "--data", released, "--to", tmp_path / "page")
    html = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert all(name in html for name in ("ours", "coin", "VariErrNLI", "reads no text"))
    result = Report.read(tmp_path / "page").result
    check_all(result)
    board = next(table.frame for table in result.tables if table.name == "leaderboard")
    above = {claim.row for claim in result.ledger if claim.table == "leaderboard" and claim.verdict == "above"}
    assert above == {row for row, place in enumerate(board["place"]) if place is not None}


@pytest.mark.slow
@pytest.mark.data
def test_the_third_edition_is_scored_as_the_organisers_do(data_dir: Path, tmp_path: Path) -> None:
    folder, rng = data_dir / "lewidi" / "2025", np.random.default_rng(0)
    known = [(name, replace(task, part=part)) for name, task in tasks(folder).items() for part in ("dev", "test")]
    for name, task in known:
        pairs = pl.concat(frame.select("item", "rater", question=pl.lit(one)) for one, frame in task.pairs.items())
        shares = rng.dirichlet(np.full(len(task.codes), 0.4), len(pairs))
        files = write_submission(task, pairs.with_columns(pl.Series("probabilities", shares.tolist())), tmp_path)
        for file, evaluation in zip(files, ("soft", "perspectivist"), strict=True):
            row = task.score(read_submission(task, file, evaluation)[0], evaluation).row(0, named=True)
            assert row["score"] == pytest.approx(by_hand(folder, name, file, evaluation, task.part), abs=1e-5), name
            assert row["skill"] < 0.05, name


@pytest.mark.slow
@pytest.mark.data
def test_the_path_in_the_docs_leads_from_a_part_of_the_data_to_valid_files(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (data_dir / "lewidi" / "2025").glob("*/*.json"):
        text = file.read_text("utf-8")
        if not file.stem.endswith("_meta"):
            text = json.dumps(dict(list(json.loads(text).items())[:40]))
        (tmp_path / "lewidi" / "2025" / file.parent.name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "lewidi" / "2025" / file.parent.name / file.name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    mine = tasks("lewidi/2025", only="MP")["MP"]
    mine.pairs["irony"].write_csv("predictions.csv")
    page = (Path(__file__).parents[2] / "docs" / "lewidi.md").read_text("utf-8")
    commands = [line.split()[3:] for line in page.splitlines() if line.startswith("$ vantage perspective")][:5]
    assert [words[0] for words in commands] == ["baseline", "baseline", "score", "leaderboard", "submit"]
    for words in commands:
        run(*words)
    for folder, names in {"ours": [*POINTS, "MP", "VariErrNLI"], "mine": ["MP"]}.items():
        for name, task in tasks("lewidi/2025").items():
            for evaluation, end in (("soft", "soft"), ("perspectivist", "pe")) if name in names else ():
                read_submission(task, Path(folder) / f"{name}_test_{end}.tsv", evaluation)
    board = pl.read_csv("leaderboard/tables/leaderboard.csv")
    assert board.filter(pl.col("system") == "frequent")["place"].null_count() == len(board) // 3
    assert "reads no text" in Path("leaderboard/report.html").read_text("utf-8")
