from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.nursery import Nursery
from vantage import Corpus, InputError, demo_corpus
from vantage.corpora import storage

OLD = demo_corpus()
NEW = OLD.filter(question="trust")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="other files and no corpus"):
        OLD.write(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.docx"]


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="this is a file"):
        OLD.write(tmp_path / "f")


def test_other_files_of_a_corpus_folder_survive_a_rewrite(tmp_path: Path) -> None:
    folder = OLD.write(tmp_path / "c")
    (folder / "notes.txt").write_text("keep me", encoding="utf-8")
    NEW.write(folder)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "keep me"
    assert Corpus.read(folder) == NEW


@pytest.mark.parametrize("step", range(12))
def test_a_write_that_breaks_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    folder = OLD.write(tmp_path / "c")
    steps = iter(range(100))

    def breaking(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if next(steps) == step:
                raise OSError(28, "No space left on device")
            return original(*args, **kwargs)

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", breaking(Path.rename))
        patch.setattr(Path, "replace", breaking(Path.replace))
        patch.setattr(os, "fsync", breaking(os.fsync))
        try:
            NEW.write(folder)
        except InputError as error:
            assert "No space left on device" in str(error)
    found = Corpus.read(folder)
    assert found in (OLD, NEW)
    assert found.judgments.height in (OLD.judgments.height, NEW.judgments.height)
    NEW.write(folder)
    assert Corpus.read(folder) == NEW
    assert not list(folder.glob(f"{storage.PREPARING}*"))


def test_a_first_write_that_breaks_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        OLD.write(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_a_commit_in_a_read_only_folder_is_read_where_it_lies(tmp_path: Path) -> None:
    folder = OLD.write(tmp_path / "c")
    NEW.write(tmp_path / "n")
    (tmp_path / "n").rename(folder / storage.COMMIT)
    assert storage.file(folder, "judgments.parquet").parent.name == storage.COMMIT
    assert Corpus.read(folder) == NEW
    assert not (folder / storage.COMMIT).exists()


WRITER = """
old, new = Corpus.read(sys.argv[2]), Corpus.read(sys.argv[3])
old.judgments, new.judgments
print("ready", flush=True)
while True:
    new.write(sys.argv[1])
    old.write(sys.argv[1])
"""


@pytest.mark.slow
def test_killing_the_writer_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    old, new = OLD.write(tmp_path / "old"), NEW.write(tmp_path / "new")
    folder = OLD.write(tmp_path / "c")
    rng = random.Random(0)  # noqa: S311
    with closing(Nursery("from vantage import Corpus", WRITER, folder, old, new)) as nursery:
        for _ in range(20):
            writer = nursery.start()
            assert nursery.line() == "ready"
            time.sleep(rng.uniform(0, 0.08))
            nursery.kill(writer)
            assert Corpus.read(folder) in (OLD, NEW)
