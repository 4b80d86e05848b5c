"""Avro files, as far as results of batches need them: every type of the format, plain or deflated (Avro 1.11)."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

_PLAIN: Final[dict[str, Callable[[_Cursor], Any]]] = {
    "null": lambda _: None,
    "boolean": lambda cursor: cursor.take(1) == b"\1",
    **dict.fromkeys(("int", "long"), lambda cursor: cursor.number()),
    "float": lambda cursor: struct.unpack("<f", cursor.take(4))[0],
    "double": lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    "bytes": lambda cursor: cursor.take(cursor.number()),
    "string": lambda cursor: cursor.take(cursor.number()).decode(),
}


def records(data: bytes) -> Iterator[Any]:
    """The records of a file, one after the other; one that is broken raises `ValueError`."""
    file = _Cursor(data, {})
    if file.take(4) != b"Obj\1":
        raise ValueError("this is not an Avro file")
    about = file.value({"type": "map", "values": "bytes"})
    schema, codec, mark = json.loads(about["avro.schema"]), about.get("avro.codec", b"null"), file.take(16)
    if codec not in (b"null", b"deflate"):
        raise ValueError(f"it is compressed with {codec.decode()}")
    while file.at < len(data):
        count, block = file.number(), file.take(file.number())
        part = _Cursor(block if codec == b"null" else zlib.decompress(block, -15), {})
        yield from (part.value(schema) for _ in range(count))
        if file.take(16) != mark:
            raise ValueError("a block is broken")


class _Cursor:
    """A place in a file that moves on with what is read."""

    def __init__(self, data: bytes, named: dict[str, Any]) -> None:
        self.data, self.at, self.named = data, 0, named

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        """Seven bits in a byte, the lowest first; the sign is the last bit."""
        number = shift = 0
        while (byte := self.take(1)[0]) & 128:
            number, shift = number | (byte & 127) << shift, shift + 7
        number |= byte << shift
        return number >> 1 ^ -(number & 1)

    def value(self, schema: Any) -> Any:
        """What stands here, by its schema."""
        if isinstance(schema, list):
            return self.value(schema[self.number()])
        if isinstance(schema, str):
            return _PLAIN[schema](self) if schema in _PLAIN else self.value(self.named[schema])
        self.named.setdefault(schema.get("name", ""), schema)
        match schema["type"]:
            case "record":
                return {field["name"]: self.value(field["type"]) for field in schema["fields"]}
            case "array":
                return [self.value(schema["items"]) for _ in self._blocks()]
            case "map":
                return {self.value("string"): self.value(schema["values"]) for _ in self._blocks()}
            case "enum":
                return schema["symbols"][self.number()]
            case "fixed":
                return self.take(schema["size"])
            case plain:
                return self.value(plain)

    def _blocks(self) -> Iterator[int]:
        """Once for each entry of a list or a map."""
        while count := self.number():
            if count < 0:
                self.number()  # the size of a block that may be passed over
            yield from range(abs(count))
