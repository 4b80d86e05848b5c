from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from vantage.errors import InputError
from vantage.interop.inspect_log import archive


def test_files_are_read_by_name_and_the_last_of_a_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../outside.json", "[1]")
        file.writestr("a.json", "[2]")
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("a.json", "[3]")
    with archive(path) as opened:
        assert opened.names == ["../outside.json", "a.json"]
        assert opened.json("a.json") == [3]
        # Nothing is unpacked, so a name that points elsewhere is only a name.
        assert opened.json("../outside.json") == [1]
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_bad_json_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.json", text)
    with archive(path) as opened, pytest.raises(InputError, match=r"'a.json' in the archive is not JSON"):
        opened.json("a.json")


def test_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.json", "[1, 2, 3]")
    data = bytearray(path.read_bytes())
    data[data.find(b"[1")] = ord("x")
    path.write_bytes(data)
    with archive(path) as opened, pytest.raises(InputError, match=r"'a.json' in the archive cannot be read"):
        opened.json("a.json")
