from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.studies.small import STUDY, collect, recorded
from vantage import Corpus
from vantage.errors import InputError
from vantage.raters.models.recorded import RecordedModel
from vantage.report import Report, Result
from vantage.runs.options import RunOptions
from vantage.runs.store import RunStore
from vantage.studies import Context, run
from vantage.studies.execution import StudyStopped
from vantage.studies.running import stored_report


def manifest(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "study.json").read_text())
    return data


def test_a_study_leaves_everything(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = run(STUDY, out=out, models=[recorded(tmp_path / "m.csv")], seed=3, level="nominal")
    assert {path.name for path in out.iterdir()} >= {
        "corpus",
        "runs.sqlite",
        "tables",
        "figures",
        "study.json",
        "report.html",
    }
    rater = f"{report.record.models[0]}+zero-shot"
    assert Corpus.read(out / "corpus").judgments.filter(rater=rater).height == 4
    told = manifest(out)["record"]
    assert told["state"] == "complete"
    assert told["options"] == {"level": "nominal", "items": 4, "loud": False, "words": ["a"]}
    assert (told["seed"], told["planned"], told["counts"][rater]["answered"]) == (3, {rater: 4}, 4)
    assert report.result.findings[0].text == "There are 3 rows."


def test_a_study_without_a_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = recorded(tmp_path / "m.csv")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert run(STUDY, models=[model]).result.tables[0].name == "alpha"
    assert list(empty.iterdir()) == []


def test_the_same_command_again_asks_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    first = run(STUDY, out=out, models=[model])
    monkeypatch.setattr(RecordedModel, "complete", lambda *_: pytest.fail("it was asked again"))
    second = run(STUDY, out=out, models=[model])
    assert second.record.counts == first.record.counts
    assert second.result.tables[0].frame.equals(first.result.tables[0].frame)


def test_two_commands_do_not_run_in_one_folder(tmp_path: Path) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"

    def meanwhile(corpus: Corpus, context: Context[Any]) -> Result:
        with pytest.raises(InputError, match="another command is running a study in this folder"):
            run(STUDY, out=out, models=[model])
        return Result([])

    run(dataclasses.replace(STUDY, analyse=meanwhile), out=out, models=[model])
    assert run(STUDY, out=out, models=[model]).record.state == "complete"


def test_other_options_are_refused_in_the_same_folder(tmp_path: Path) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    run(STUDY, out=out, models=[model])
    before = (out / "report.html").read_bytes()
    with pytest.raises(InputError, match="holds a run with level 'ordinal', not 'nominal'; choose another folder"):
        run(STUDY, out=out, models=[model], level="nominal")
    with pytest.raises(InputError, match="with seed '0', not '1'"):
        run(STUDY, out=out, models=[model], seed=1)
    assert (out / "report.html").read_bytes() == before


def cut(error: BaseException, where: str) -> Any:
    """The small study, cut off in one of its steps."""

    def failing(*_: Any) -> Any:
        raise error

    def collecting(context: Context[Any]) -> Corpus:
        collect(context)
        raise error

    return dataclasses.replace(STUDY, **({"analyse": failing} if where == "analyse" else {"collect": collecting}))


@pytest.mark.parametrize("where", ["collect", "analyse"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("<b>no room</b>"), InputError("it is bad")])
@pytest.mark.slow
def test_a_run_that_is_cut_off_says_how_far_it_came(tmp_path: Path, where: str, error: BaseException) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    with pytest.raises(type(error)):
        run(cut(error, where), out=out, models=[model])
    told = manifest(out)["record"]
    assert told["state"] == "interrupted"
    assert told["reason"]
    report = stored_report(out)
    report.write(out)
    page = (out / "report.html").read_text()
    assert "This run is not complete" in page
    assert "<b>no room</b>" not in page
    assert "4 finished calls are stored" in page
    assert report.record.counts[f"{model}+zero-shot"]["answered"] == 4
    done = run(STUDY, out=out, models=[model])
    assert done.record.state == "complete"
    assert "This run is not complete" not in (out / "report.html").read_text()


@pytest.mark.slow
def test_a_run_that_was_killed_is_seen_as_such(tmp_path: Path) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    run(STUDY, out=out, models=[model])
    report = Report.read(out)
    report.record.state, report.record.counts = "running", {}
    Report(report.record, Result([])).note(out)
    Corpus.read(out / "corpus").filter(kind="person").write(out / "corpus")
    stored_report(out).write(out)
    page = (out / "report.html").read_text()
    assert "cut off without a word" in page
    assert "0 of 4 planned judgments are there" in page


def test_what_was_planned_is_written_down_before_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, out = recorded(tmp_path / "m.csv"), tmp_path / "out"
    seen: list[Any] = []
    plain = RecordedModel.complete

    def looking(self: RecordedModel, requests: Any) -> Any:
        seen.append(manifest(out)["record"]["planned"])
        return plain(self, requests)

    monkeypatch.setattr(RecordedModel, "complete", looking)
    run(STUDY, out=out, models=[model])
    assert seen[0] == {f"{model}+zero-shot": 4}


def test_before_anything_was_asked_the_report_is_still_a_page(tmp_path: Path) -> None:
    def failing(_: Any) -> Corpus:
        raise RuntimeError("at once")

    with pytest.raises(RuntimeError):
        run(dataclasses.replace(STUDY, collect=failing), out=tmp_path / "out")
    stored_report(tmp_path / "out").write(tmp_path / "out")
    assert "RuntimeError: at once" in (tmp_path / "out" / "report.html").read_text()


def test_a_model_that_refused_everything_gives_a_sound_report(tmp_path: Path) -> None:
    model = recorded(tmp_path / "m.csv", "I'm sorry, but I cannot help with that request.")
    report = run(STUDY, out=tmp_path / "out", models=[model])
    assert report.record.counts[f"{model}+zero-shot"]["refused"] == 4
    assert report.record.missing == []


def test_a_run_that_stops_early_can_go_on(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("item,question,reply\nx,trust,1\n")
    model, out = f"recorded:{tmp_path / 'm.csv'}", tmp_path / "out"
    with pytest.raises(StudyStopped, match="run the same command again"):
        run(STUDY, out=out, models=[model], carried=RunOptions(fail_on=0, concurrency=1))
    assert manifest(out)["record"]["state"] == "interrupted"
    recorded(tmp_path / "m.csv")
    assert run(STUDY, out=out, models=[model]).record.counts[f"{model}+zero-shot"]["answered"] == 4


@pytest.mark.slow
def test_after_a_limit_of_cost_the_same_command_is_not_advised(tmp_path: Path) -> None:
    model = recorded(tmp_path / "m.csv")
    limited = RunOptions(max_cost=0.0, prices={model: {"input": 1.0, "output": 1.0}})
    with pytest.raises(StudyStopped, match=r"the limit of 0; 0 has been spent; raise --max-cost to go on\.$"):
        run(STUDY, out=tmp_path / "out", models=[model], carried=limited)
    stored_report(tmp_path / "out").write(tmp_path / "out")
    assert "same command" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_needed_data_are_asked_for(tmp_path: Path) -> None:
    study = dataclasses.replace(STUDY, needs_data="get it from the authors")
    with pytest.raises(InputError, match="study 'small' needs data; pass --data; get it from the authors"):
        run(study, out=tmp_path / "out")
    with pytest.raises(InputError, match="there is no such file or folder; check --data"):
        run(study, out=tmp_path / "out", data=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()


def test_progress_and_warnings_reach_the_caller(tmp_path: Path) -> None:
    moved: dict[str, int] = {}

    @contextmanager
    def step(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        moved[title] = 0

        def move(count: int) -> None:
            moved[title] += count

        yield move

    def progress(title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        return step(title, total)

    def warning(context: Context[Any]) -> Corpus:
        context.warn("beware")
        context.warn("beware")
        return collect(context)

    model = recorded(tmp_path / "m.csv")
    report = run(dataclasses.replace(STUDY, collect=warning), models=[model], progress=progress)
    assert report.result.warnings == ["beware"]
    assert moved[f"asking {model}+zero-shot"] == 4


def test_every_reply_is_in_the_store(tmp_path: Path) -> None:
    run(STUDY, out=tmp_path / "out", models=[recorded(tmp_path / "m.csv")], items=3)
    with RunStore(tmp_path / "out" / "runs.sqlite", read_only=True) as store:
        assert store.count() == 3
