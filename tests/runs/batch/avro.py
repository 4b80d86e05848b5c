"""Writes Avro files as the format documents them, apart from what reads them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

MARK = bytes(range(16))


def written(schema: Any, rows: Sequence[Any], *, deflated: bool = False) -> bytes:
    """A file with all rows in one block."""
    about = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"deflate" if deflated else b"null"}
    block = b"".join(_value(schema, row) for row in rows)
    if deflated:
        packer = zlib.compressobj(wbits=-15)
        block = packer.compress(block) + packer.flush()
    head = b"Obj\1" + _value({"type": "map", "values": "bytes"}, about) + MARK
    return head + _number(len(rows)) + _number(len(block)) + block + MARK


def _number(number: int) -> bytes:
    left, digits = (number << 1) ^ (number >> 63), bytearray()
    while left > 127:
        digits.append(left & 127 | 128)
        left >>= 7
    return bytes([*digits, left])


def _value(schema: Any, value: Any) -> bytes:
    if isinstance(schema, list):
        place = next(n for n, one in enumerate(schema) if (one == "null") == (value is None))
        return _number(place) + _value(schema[place], value)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        return b"".join(_value(field["type"], value[field["name"]]) for field in schema["fields"])
    if kind == "array":
        return (_number(len(value)) + b"".join(_value(schema["items"], one) for one in value) if value else b"") + b"\0"
    if kind == "map":
        inside = b"".join(_value("string", name) + _value(schema["values"], one) for name, one in value.items())
        return (_number(len(value)) + inside if value else b"") + b"\0"
    if kind == "enum":
        return _number(schema["symbols"].index(value))
    if kind == "null":
        return b""
    if kind == "boolean":
        return b"\1" if value else b"\0"
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", value)
    if kind in ("int", "long"):
        return _number(value)
    raw = value.encode() if kind == "string" else value
    return bytes(raw) if kind == "fixed" else _number(len(raw)) + bytes(raw)
