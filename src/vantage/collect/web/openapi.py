"""The OpenAPI description of the JSON interface, generated from its calls."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from vantage._version import __version__
from vantage.collect.web import api

BRACES = str.maketrans("", "", "{}")


@lru_cache(maxsize=4)
def description(prefix: str = "") -> dict[str, Any]:
    """The OpenAPI document."""
    shapes: dict[str, Any] = {}

    def schema(of: Any) -> dict[str, Any]:
        made = TypeAdapter(of).json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        shapes.update(made.pop("$defs", {}))
        return made

    paths: dict[str, dict[str, Any]] = {}
    problem = {"content": {"application/json": {"schema": schema(api.Problem)}}}
    for call in api.CALLS:
        named = [part[1:-1] for part in call.path.split("/") if part.startswith("{")]
        word = {"type": "string", "minLength": 1}
        parameters = [{"name": name, "in": "path", "required": True, "schema": word} for name in named]
        parameters += [{"name": name, "in": "query", "schema": shape} for name, shape in call.query]
        content = {"application/json": {"schema": schema(call.response)}}
        responses: dict[str, Any] = {"200": {"description": "Success", "content": content}}
        if call.body or call.query:
            responses["400"] = {"description": "Not as described", **problem}
        if call.body:
            responses["413"] = {"description": "The body is too large"}
        if call.handler is api.health:
            responses["503"] = {"description": "The database does not answer", "content": content}
        if not call.open:
            responses["401"] = {"description": "No token, or an expired one", **problem}
        if named:
            responses["404"] = {"description": "Not found", **problem}
            responses["409"] = {"description": "No longer possible", **problem}
        if call.body is api.Password:
            responses["403"] = {"description": "Wrong password", **problem}
            responses["429"] = {"description": "Too many wrong passwords", **problem}
        entry: dict[str, Any] = {
            "operationId": f"{call.method.lower()}{call.path.replace('/', '_').translate(BRACES)}",
            "summary": (call.handler.__doc__ or "").strip(),
            "parameters": parameters,
            "responses": responses,
        }
        if call.body:
            entry["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema(call.body)}}}
        if not call.open:
            entry["security"] = [{"token": []}]
        paths.setdefault(call.path, {})[call.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "Vantage collect", "version": __version__},
        "servers": [{"url": prefix or "/"}],
        "paths": paths,
        "components": {"schemas": shapes, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
