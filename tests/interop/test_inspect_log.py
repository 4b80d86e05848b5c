from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vantage, vantage  # noqa: F401 - a fixture
from vantage import InputError, Instrument, demo_corpus, export
from vantage.corpora.readers import load
from vantage.interop import inspect_log


def sample(id_: str, reply: str, *, epoch: int = 1, stop: str = "stop", **more: Any) -> dict[str, Any]:
    """A sample as Inspect 0.3 logs it, as far as it is read."""
    choice = {"message": {"role": "assistant", "content": reply}, "stop_reason": stop}
    return {
        "id": id_,
        "epoch": epoch,
        "input": [{"role": "system", "content": "s"}, {"role": "user", "content": f"Is {id_} ironic?"}],
        "target": "",
        "output": {"model": "m", "choices": [choice], "completion": reply},
        "scores": {"share": {"value": float("nan")}},
        **more,
    }


def head(**metadata: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "irony", "model": "openai/m", "metadata": metadata}}


def logged(path: Path, header: dict[str, Any], samples: list[dict[str, Any]], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as file:
        file.writestr("_journal/start.json", json.dumps(header))
        for one in samples:
            file.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        file.writestr("header.json", json.dumps(header))
    return path


def of_the_task(tmp_path: Path, replies: list[str]) -> list[dict[str, Any]]:
    folder = export(demo_corpus(), "inspect", tmp_path / "task", question="trust")
    lines = (folder / "dataset.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines[: len(replies)]]
    return [sample(one["id"], reply, metadata=one["metadata"]) for one, reply in zip(found, replies, strict=True)]


def ours(tmp_path: Path) -> dict[str, Any]:
    return head(vantage=json.loads((tmp_path / "task" / "instrument.json").read_text("utf-8")))


def test_a_log_of_our_task_needs_no_options(tmp_path: Path) -> None:
    samples = of_the_task(tmp_path, ["2", "Answer: −1", "As an AI I cannot judge people."])
    found = load("inspect", logged(tmp_path / "log.eval", ours(tmp_path), samples))
    assert found.judgments["value"].to_list() == [2.0, -1.0, None]
    assert found.judgments["status"].to_list() == ["answered", "answered", "refused"]
    assert found.judgments["reply"][1] == "Answer: −1"
    assert found.raters.row(0, named=True) == {
        "rater": "inspect:openai/m+zero-shot",
        "kind": "model",
        "model": "inspect:openai/m",
        "style": "zero-shot",
    }
    both = demo_corpus().merge(found)
    assert len(both.items) == 30
    assert len(both.judgments) == len(demo_corpus().judgments) + 3


def test_json_and_archive_say_the_same(tmp_path: Path) -> None:
    samples = of_the_task(tmp_path, ["1", "0"])
    archive = logged(tmp_path / "log.eval", ours(tmp_path), samples)
    plain = tmp_path / "log.json"
    plain.write_text(json.dumps({**ours(tmp_path), "samples": samples}))
    assert load("inspect", archive) == load("inspect", plain)


def test_another_task_is_read_with_an_instrument(tmp_path: Path) -> None:
    samples = [
        sample("a", "yes"),
        sample("a", "no", epoch=2),
        sample("b", "", stop="content_filter"),
        {**sample("c", ""), "output": {"choices": []}, "error": {"message": "the server was gone"}},
        sample("d", "attachment://77", attachments={"77": "Clearly ironic.\nAnswer: yes"}),
        {**sample("e", "no"), "input": "Just text"},
        sample("f", "yes", stop="unknown"),
    ]
    samples[0]["output"] = {
        "choices": [
            {
                "message": {"content": [{"type": "reasoning", "reasoning": "no"}, {"type": "text", "text": "yes"}]},
                "stop_reason": "stop",
            }
        ]
    }
    found = load("inspect", logged(tmp_path / "x.eval", head(), samples), instrument="irony", condition="static")
    rows = {(r["item"], r["sample"]): (r["value"], r["status"]) for r in found.judgments.iter_rows(named=True)}
    assert rows == {
        ("a", 0): (1.0, "answered"),
        ("a", 1): (0.0, "answered"),
        ("b", 0): (None, "refused"),
        ("c", 0): (None, "failed"),
        ("d", 0): (1.0, "answered"),
        ("e", 0): (0.0, "answered"),
        ("f", 0): (None, "failed"),  # why the reply ended is not known, so it may be half of one
    }
    assert set(found.judgments["condition"]) == {"static"}
    assert dict(found.items.select("item", "text").iter_rows())["e"] == "Just text"
    assert dict(found.items.select("item", "text").iter_rows())["a"] == "Is a ironic?"
    assert found.judgments.filter(item="c")["reply"].item() == "the server was gone"


def test_all_logs_of_a_folder_are_one_corpus(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    other = head()
    other["eval"]["model"] = "openai/other"
    logged(folder / "1.eval", head(), [sample("a", "yes")])
    logged(folder / "2.eval", other, [sample("a", "no")])
    found = load("inspect", folder, instrument="irony")
    assert sorted(found.raters["rater"]) == ["inspect:openai/m", "inspect:openai/other"]


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_journal/start.json", json.dumps(head()))
        file.writestr("samples/a_epoch_1.json", json.dumps(sample("a", "yes")))
    assert len(load("inspect", path, instrument="irony").judgments) == 1


def test_logs_packed_with_zstandard_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "log.eval"
    entries = {"header.json": json.dumps(head()), "samples/a_epoch_1.json": json.dumps(sample("a", "yes"))}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, text in entries.items():
            # Two frames, as Inspect writes long entries.
            middle = len(text) // 2
            pack = zstandard.ZstdCompressor()
            file.writestr(name, pack.compress(text[:middle].encode()) + pack.compress(text[middle:].encode()))
    # Python before 3.14 cannot write that kind of entry, so the entries are marked by hand.
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.find(mark)
        while place >= 0:
            data[place + offset : place + offset + 2] = (93).to_bytes(2, "little")
            place = data.find(mark, place + 4)
    path.write_bytes(data)
    assert load("inspect", path, instrument="irony").judgments["value"].to_list() == [1.0]
    monkeypatch.setattr(inspect_log, "_module", lambda name: None)
    with pytest.raises(InputError, match="pip install zstandard"):
        load("inspect", path, instrument="irony")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: p.write_bytes(b"PK\x03\x04 broken"), "this archive cannot be read"),
        (lambda p: p.write_bytes(b"hello"), "neither a .eval nor a .json log"),
        (lambda p: p.write_text("[1, 2]"), "not an Inspect log"),
        (lambda p: zipfile.ZipFile(p, "w").writestr("a.txt", "x"), "the archive is not an Inspect log"),
        (lambda p: logged(p, head(), []), "the log has no samples"),
        (lambda p: p.write_text(json.dumps({**head(), "samples": [{"x": 1}]})), "row 1: this sample has no id"),
    ],
)
def test_bad_logs_end_with_a_sentence(tmp_path: Path, make: Any, sentence: str) -> None:
    path = tmp_path / "log.eval"
    make(path)
    with pytest.raises(InputError, match=sentence):
        load("inspect", path, instrument="irony")


def test_what_was_asked_must_be_known(tmp_path: Path) -> None:
    path = logged(tmp_path / "log.eval", head(), [sample("a", "yes")])
    with pytest.raises(InputError, match="does not say what was asked; name the instrument"):
        load("inspect", path)
    with pytest.raises(InputError, match="which question was asked: trust, sociability, competence"):
        load("inspect", path, instrument="warmth-competence")
    assert load("inspect", path, instrument=Instrument.load("irony")).questions[0].id == "irony"
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no logs of Inspect"):
        load("inspect", tmp_path / "empty", instrument="irony")
    with pytest.raises(InputError, match="no such file"):
        load("inspect", tmp_path / "nowhere.eval")


def test_too_large_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = logged(tmp_path / "log.eval", head(), [sample("a", "yes " * 100_000)])
    monkeypatch.setattr(inspect_log, "LARGEST", 1000)
    with pytest.raises(InputError, match="has more than 0 MiB"):
        load("inspect", path, instrument="irony")


def test_the_verbs_take_a_task_there_and_back(
    vantage: Vantage,  # noqa: F811
    tmp_path: Path,
) -> None:
    demo = demo_corpus().write(tmp_path / "demo")
    words = ("--as", "inspect", "--to", tmp_path / "task", "--question", "trust")
    assert vantage("corpora", "export", demo, *words).code == 0
    samples = of_the_task(tmp_path / "again", ["2"])
    log = logged(tmp_path / "log.eval", ours(tmp_path), samples)
    done = vantage("corpora", "import", "inspect", "--from", log, "--to", tmp_path / "models")
    assert done.code == 0, done.err
    assert "1 judgments" in done.out
    assert vantage("corpora", "merge", demo, tmp_path / "models", "--to", tmp_path / "both").code == 0
