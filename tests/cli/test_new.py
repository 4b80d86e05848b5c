from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Vantage

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_of_a_new_project_runs(vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = vantage("new", "project", "my-study")
    assert done.code == 0
    assert "follow README.md" in done.out
    monkeypatch.chdir(tmp_path / "my-study")
    blocks = BLOCK.findall(Path("README.md").read_text("utf-8"))
    lines = [line for kind, code in blocks if kind == "sh" for line in code.splitlines()]
    assert len(lines) == 9
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "vantage"
        done = vantage(*words[1:])
        assert done.code == 0, f"{line}: {done.err}"
    assert "greement" in Path("results/report.html").read_text("utf-8")
    # What needs a model or a browser is at least a verb with these options.
    for kind, code in blocks:
        for line in code.splitlines() if kind == "console" else ():
            verb = [word for word in shlex.split(line, comments=True)[1:3] if word.isalpha() and word != "corpus"]
            shown = vantage(*verb, "--help").out
            assert all(flag in shown for flag in re.findall(r"--[a-z-]+", line) if verb != ["collect"]), line


def test_an_instrument_and_a_study_work_at_once(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert vantage("new", "instrument", "tone", "--json").json == [{"written": "tone.yaml"}]
    assert "no problems" in vantage("instruments", "check", "tone.yaml").out
    assert "vantage study first.yaml --to results" in vantage("new", "study", "first").out
    told = vantage("study", "first.yaml", "--help").out
    assert "vantage study first.yaml" in told
    assert "--confidence" in told
    done = vantage("study", "first.yaml", "--to", "results")
    assert done.code == 0, done.err
    assert "trust" in done.out
    again = vantage("new", "study", "first")
    assert (again.code, "the file or folder exists already" in again.err) == (2, True)


def test_the_questions_of_a_table_are_put_into_words_and_asked(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("item,rater,text,Safe?\na,x,Hi.,Yes\na,y,Hi.,No\nb,x,Go.,No\nb,y,Go.,No\n", "utf-8")
    mapped = "item=item,rater=rater,text=text,value=Safe?"
    vantage("corpora", "import", "table", "--from", "t.csv", "--map", mapped, "--question", "safe", "--to", "rated")
    refused = vantage("rate", "rated", "--show", 1)
    assert (refused.code, "vantage new instrument NAME --from rated" in refused.err) == (2, True)
    assert vantage("new", "instrument", "safety", "--from", "rated").code == 0
    assert "no wording" in vantage("rate", "rated", "--instrument", "safety.yaml", "--show", 1).err
    written = Path("safety.yaml").read_text("utf-8")
    Path("safety.yaml").write_text(written.replace("ask: safe", "ask: Is this safe?"), "utf-8")
    shown = vantage("rate", "rated", "--instrument", "safety.yaml", "--show", 1)
    assert (shown.err, "Question: Is this safe?\n\nNo\nYes" in shown.out) == ("", True)
