"""What studies will take: the calls that are estimated are those that are made, and nothing is sent before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run as verb
from tests.runs.test_forecast import Counting
from tests.studies import small
from tests.studies.appraisals import release as appraisals
from tests.studies.context.pipeline.planted import Planted, planted_corpus
from tests.studies.context.pipeline.script_writer import CONVERSATION, ScriptWriter
from tests.studies.perseval import made as perseval
from tests.studies.wcsent import release as wcsent
from vantage import InputError
from vantage.report.record import Record
from vantage.runs.forecast import ASSUMED
from vantage.studies.base import find
from vantage.studies.context.pipeline.generation import ASSUMPTION
from vantage.studies.execution import Context
from vantage.studies.running import Preview, preview

CASES: dict[str, dict[str, Any]] = {
    "wcsent": {"styles": "zero-shot,few-shot:2,coarse,few-shot:2+coarse", "limit": 5, "predict": False},
    "stereomap": {"form": "short", "groups": "nurses, lawyers, pupils", "k": 2, "runs": 2, "variants": "bare"},
    "appraisals": {"posts": 2, "runs": 2},
    "perseval": {"methods": "none", "texts": 4, "shown": 2, "retrieval": "tfidf"},
    "demo": {"asked": 3},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path | None]:
    folder = tmp_path_factory.mktemp("data")
    planted_corpus(["clear", "clear", "ambiguous", "ambiguous"] * 3).write(folder / "context" / "sarcasm")
    return {
        "wcsent": wcsent.write(folder / "wcsent"),
        "appraisals": appraisals.write(folder / "appraisals", evaluated=False),
        "perseval": perseval.write(folder / "perseval"),
        "context": folder / "context",
        "stereomap": None,
        "demo": None,
    }


def loads(monkeypatch: pytest.MonkeyPatch, models: dict[str, Any] | None = None) -> None:
    """Lets model names stand for these models; with none given, whoever loads a model has failed."""

    def load(spec: str, **_: Any) -> Any:
        assert models is not None, f"{spec} was loaded for an estimate"
        return models[spec]

    for place in ("raters.chat", "raters.trained.probe"):
        monkeypatch.setattr(f"vantage.{place}.load_model", load)


def estimated(monkeypatch: pytest.MonkeyPatch, study: str, data: Path | None, **options: Any) -> Preview:
    loads(monkeypatch)
    return preview(study, data=data, models=["openai:x"], seed=3, **options)


def collected(study: str, data: Path | None, **options: Any) -> None:
    chosen = find(study)
    used: Any = {"data": data, "models": ("openai:x",), "seed": 3}
    chosen.collect(Context(chosen.options(**options), Record(study, study), **used))


@pytest.mark.parametrize("study", CASES)
def test_as_many_calls_are_made_as_estimated(
    study: str, data: dict[str, Path | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = estimated(monkeypatch, study, data[study], **CASES[study])
    model = Counting("Warm. It is so.\nAnswer: 2")
    loads(monkeypatch, {"openai:x": model})
    collected(study, data[study], **CASES[study])
    # The model answers in its own form, so that it is also asked which answer it gives; that is not estimated.
    seen = [request for request in model.seen if "State the answer" not in request.messages[-1].content]
    # Users of whom nothing is told get the same prompt, which may be on its way twice at once.
    different = {(str(request.messages), str(request.tag), str(request.sampling)) for request in seen}
    assert found.forecast.total.calls == len(different) > 0
    sent = (
        sum(len(message.content) for request in seen for message in request.messages) / 4 * len(different) / len(seen)
    )
    # Keyword lists of the usual length stand for the short ones of this model.
    if study != "stereomap":
        assert found.forecast.total.prompt_tokens == pytest.approx(sent, rel=0.05)
    assert (ASSUMED["why"] in found.notes) == (study == "appraisals")


FEW: dict[str, Any] = {
    "tasks": "sarcasm",
    "items": 8,
    "persona_count": 3,
    "samples": 2,
    "runs": 2,
    "first_person": False,
    "writer": "writer",
    # A request brings one reply of these models.
    "simulator": "openai:x several=1",
    "judge": "openai:x several=1",
    "verifier": "checker",
    "controls": "label,blind",
    "attempts": 2,
    "methods": "direct,selective,length",
}


def again(step: str, statement: str, number: int) -> str | None:
    """A writer whose second conversation is not the first one."""
    return CONVERSATION.replace("Forty", f"{number + 40}") if step == "conversation" else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "styles", "grades"),
    [("sampling", "zero-shot,few-shot:3", "5"), ("scoring", "zero-shot", "5"), ("scoring", "zero-shot", "1")],
)
def test_the_calls_of_the_context_study_are_the_most_there_can_be(
    answers: str, styles: str, grades: str, data: dict[str, Path | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**FEW, "answers": answers, "styles": styles}
    found = estimated(monkeypatch, "context", data["context"], **options)
    assert ASSUMPTION in found.notes
    assert ASSUMED["relevance"] in found.notes
    planted, writer = Planted("openai:x"), ScriptWriter(replies=again)
    checker = ScriptWriter("checker", grades=grades)
    loads(monkeypatch, {"openai:x": planted, "writer": writer, "checker": checker})
    collected("context", data["context"], **options)
    made = {"openai:x": planted.asked, "writer": len(writer.asked), "checker": len(checker.asked)}
    most = {name: sum(one.calls for one in found.forecast.estimates if one.model == name) for name in made}
    assert all(0 < made[name] <= most[name] for name in made), (made, most)
    if grades == "1":
        # Whoever passes nothing is asked as often as there are attempts.
        assert made["checker"] == most["checker"] == 2 * (8 * 3 + 8 * 2)
        assert made["writer"] == most["writer"] == 2 * 2 * 8 * 3


def test_trained_raters_are_named_and_not_trained(
    data: dict[str, Path | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trains(*_: Any, **__: Any) -> None:
        raise AssertionError("trained for an estimate")

    monkeypatch.setattr("vantage.studies.wcsent.study.fit", trains)
    monkeypatch.setattr("vantage.studies.perseval.study.fit", trains)
    loads(monkeypatch)
    found = preview("wcsent", data=data["wcsent"])
    assert list(found.trained) == [
        *("majority", "mean", "tfidf-ridge", "tfidf-logistic", "probe on embedded", "encoder/distribution on minilm"),
    ]
    assert all("ratings" in learns for learns in found.trained.values())
    assert found.forecast.total.calls == 0
    pairs = preview("perseval", data=data["perseval"], methods="tfidf,tfidf-users")
    assert {rater.removeprefix("made: ").split(" ")[0] for rater in pairs.trained} == {"tfidf", "tfidf-users"}
    assert any("group alone" in rater for rater in pairs.trained)
    assert all(learns.endswith(" judgments") and learns[0] != "0" for learns in pairs.trained.values())


OWN = """
from vantage import ChatRater, demo_corpus, rate
from vantage.report import Result
from vantage.studies import Study, option
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    style: str = option("zero-shot", "how models are asked")

def collect(context):
    corpus = demo_corpus()
    {body}

STUDY = Study("own", "Own", ("?",), Options, collect, lambda corpus, context: Result([]))
"""
RATES = 'return context.rate(corpus, context.raters(context.options.style), "warmth-competence")'


def test_a_study_of_ones_own_is_estimated_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads(monkeypatch)
    file, prices = tmp_path / "own.py", tmp_path / "prices.yaml"
    file.write_text(OWN.format(body=RATES), "utf-8")
    prices.write_text("openai:x: {input: 1, output: 4}\n", "utf-8")
    words = ("study", file, "--model", "openai:x", "--style", "two-step", "--estimate")
    told = verb(capsys, monkeypatch, *words, "--prices", prices, "--json").json
    assert (told["study"], told["calls"]) == ("own", 180)
    assert told["cost"] == pytest.approx((told["prompt_tokens"] + 4 * told["completion_tokens"]) / 1e6)
    assert told["seconds"] > 0
    assert [(row["model"], row["style"], row["raters"], row["calls"]) for row in told["asked"]] == [
        ("openai:x", "two-step", 1, 180)
    ]
    assert ASSUMED["why"] in told["notes"]
    done = verb(capsys, monkeypatch, *words, "--model", "embedded", "--to", tmp_path / "out")
    assert done.code == 0
    assert "Pass prices with --prices FILE" in done.out
    assert "Nothing was sent." in done.out
    assert [line.split()[0] for line in done.out.splitlines() if " 180 " in line] == ["openai:x", "embedded"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["own.py", "prices.yaml"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            'return rate(corpus, [ChatRater("openai:x")], "warmth-competence")',
            "study 'own' asks a model without context.rate, so its calls cannot be estimated; ask with context.rate",
        ),
        (
            'ChatRater("recorded:nowhere.csv").open()',
            "study 'own' asks a model without context.rate",
        ),
        (
            f'{RATES.removeprefix("return ")}.judgments["reply"]',
            "study 'own' cannot be estimated, since it collects only with existing replies (ColumnNotFoundError",
        ),
    ],
)
def test_a_study_that_cannot_be_estimated_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, body: str, sentence: str
) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN.format(body=body), "utf-8")
    done = verb(capsys, monkeypatch, "study", file, "--model", "openai:x", "--estimate")
    assert done.code == 2
    assert done.err.startswith(f"vantage: {sentence}"), done.err


@pytest.mark.parametrize("study", sorted(CASES.keys() - {"demo"}))  # which scores options and gets no replies
def test_every_study_takes_the_option_that_the_note_on_cut_replies_names(
    study: str,
    data: dict[str, Path | None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads(monkeypatch)
    options = [word for name, value in CASES[study].items() for word in ("--set", f"{name}={value}")]
    where = ["--data", data[study]] if data[study] else []
    words = ("study", study, *where, "--model", "openai:x", "--max-tokens", 1, *options, "--estimate", "--json")
    told = verb(capsys, monkeypatch, *words).json
    assert told["completion_tokens"] == told["calls"] > 0


def test_stored_calls_are_told_and_left_alone(tmp_path: Path) -> None:
    from vantage.studies import run

    model = small.recorded(tmp_path / "answers.csv")
    run(small.STUDY, models=[model], out=tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    found = preview(small.STUDY, models=[model], out=tmp_path / "out")
    assert found.forecast.total.calls == 4
    assert found.notes[-1].endswith("runs.sqlite will not be made again.")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_bad_options_are_told_before_anything_is_planned() -> None:
    with pytest.raises(InputError, match="study 'wcsent' needs data"):
        preview("wcsent")
    with pytest.raises(InputError, match="no option 'levl'"):
        preview(small.STUDY, levl="nominal")
