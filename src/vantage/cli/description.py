"""What `vantage corpora describe` prints for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vantage.cli.output import show
from vantage.corpora.readers.column_facts import stem

NONE = "(none)"
WAYS = {2: "two", 3: "three", 4: "four"}


def description(facts: dict[str, Any]) -> Iterator[Any]:
    """A description for people: lines and tables."""
    yield facts["title"] or facts["name"]
    if facts["source"]:
        yield f"from {facts['source']}" + (f"; licence: {facts['licence']}" if facts["licence"] else "")
    yield ""
    sizes = ("items", "targets", "raters", "judgments", "rationales")
    yield ", ".join(f"{show(facts[name])} {name}" for name in sizes if facts.get(name))
    for key in ("judgments_per_item", "judgments_per_rater"):
        if (spread := facts[key])["min"] is not None:
            low, middle, high = (show(spread[part]) for part in ("min", "median", "max"))
            yield f"{key.replace('_', ' ')}: {low} to {high}, median {middle}"
    for key in ("kinds", "conditions", "statuses"):
        if len(counts := facts[key]) > 1 or key == "kinds":
            yield f"{key}: {', '.join(f'{show(count)} {name or NONE}' for name, count in counts.items())}"
    if drawn := [f"{what} by {column}" for what, column in facts["design"].items() if column]:
        yield f"drawn together: {', '.join(drawn)}"
    yield ""
    questions = facts["questions"]
    apart = len({question["kind"] for question in questions}) > 1
    yield [_question_row(question, apart) for question in questions]
    by_codes: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for question in questions:
        if question["values"] and len(question["values"]) <= 11:
            by_codes.setdefault(tuple(question["values"]), []).append(question)
    for codes, alike in by_codes.items():
        yield ""
        words = alike[0].get("labels") or {}
        words = words if all((q.get("labels") or {}) == words for q in alike) else {}
        heads = {code: f"{code} {words.get(code, '')}".strip() for code in codes}
        yield [
            {"answers": q["question"], **_kind(q, apart), **{heads[code]: n for code, n in q["values"].items()}}
            for q in alike
        ]
    yield ""
    for heading, key in (("Traits of the raters", "traits"), ("Columns of the items", "item_columns")):
        yield heading, [{"column": name, **_column_row(column)} for name, column in facts[key].items()]
    yield from (f"• {remark}" for remark in _remarks(facts))


def preview_lines(facts: dict[str, Any]) -> Iterator[str]:
    """What would be read from a table, for people: a screen at most, however many columns there are."""
    if facts["rows"] is not None:
        yield f"{facts['file']}: {show(facts['rows'])} rows, {show(len(facts['columns']))} columns"
        for role, columns in _by_role(facts).items():
            yield f"  {role}: {columns}"
    if facts["problem"]:
        yield f"Problem: {facts['problem']}"
    elif facts["readings"]:
        ways = len(facts["readings"])
        yield f"It can be read in {WAYS.get(ways, ways)} ways: {facts['doubt']}."
        if facts["tried"]:
            yield f"Each was tried on {show(facts['tried'])} of {show(facts['rows'])} rows."
        for reading in facts["readings"]:
            yield f"\n{reading['why']}:"
            yield from _reading_lines(reading, short=ways > 2)
            yield f"  {reading['command']}"
        return
    else:
        yield from _reading_lines(facts)
    for heading, lines in (("Doubts", [doubt["doubt"] for doubt in facts["doubts"]]), ("Notes", facts["notes"])):
        if lines:
            more = [f"and {len(lines) - 5} more"] if len(lines) > 5 else []
            yield f"{heading}:\n" + "\n".join(f"• {_clipped(line)}" for line in [*lines[:5], *more])
    if facts["command"]:
        yield f"{'Start from' if facts['problem'] else 'Import with'}:\n  {facts['command']}"


def _reading_lines(facts: dict[str, Any], *, short: bool = False) -> Iterator[str]:
    if facts["judgments"] is None:
        yield f"  {_clipped(facts['problem'])}"
        return
    sizes = [f"{show(facts[what])} {what}" for what in ("items", "raters", "judgments")]
    alphas = [show(q["alpha"]) for q in facts["questions"][:3] if q.get("alpha") is not None] if short else []
    yield "  " + ", ".join([*sizes, *(f"alpha {alpha}" for alpha in alphas)])
    if short:
        # Several readings fit on a screen with what tells them apart.
        return
    for question in facts["questions"][:3]:
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in question["shares"].items())
        parts = [f"{question['question']}, {question['scale']}", shares]
        parts += [f"{name} {show(question[name])}" for name in ("mean", "alpha") if question.get(name) is not None]
        yield f"  question {_clipped('; '.join(filter(None, parts)))}"
    if len(facts["questions"]) > 3:
        yield f"  and {len(facts['questions']) - 3} more questions"
    if facts["first"]:
        yield f"  first judgment: {_clipped(facts['first'])}"


def _by_role(facts: dict[str, Any]) -> dict[str, str]:
    """The columns of each role, those that are numbered as a pattern."""
    roles: dict[str, dict[str, list[str]]] = {}
    for column in facts["columns"]:
        role = {"value": "answers", "trait": "traits of raters", None: "not read"}.get(column["role"], column["role"])
        patterns = roles.setdefault(role if not facts["readings"] else "columns", {})
        patterns.setdefault(stem(column["column"]), []).append(column["column"])
    if facts["readings"] or len(roles) > 7:
        together: dict[str, list[str]] = {}
        for patterns in roles.values():
            for pattern, columns in patterns.items():
                together.setdefault(pattern, []).extend(columns)
        roles = {"columns": together}
    shown = {}
    for role, patterns in roles.items():
        named = [f"{p} ({show(len(n))} columns)" if len(n) > 1 else n[0] for p, n in patterns.items()]
        shown[role] = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
    return shown


def _clipped(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _question_row(question: dict[str, Any], apart: bool) -> dict[str, Any]:
    spread = question["judgments_per_item"]
    declined = {status: count for status, count in question["statuses"].items() if status != "answered"}
    return {
        "question": question["question"],
        **_kind(question, apart),
        **{name: question[name] for name in ("scale", "items", "raters", "judgments")},
        "per item": f"{show(spread['min'])}–{show(spread['max'])}",
        "mean": question["mean"],
        "no value": declined or None,
    }


def _kind(question: dict[str, Any], apart: bool) -> dict[str, Any]:
    return {"kind": question["kind"]} if apart else {}


def _column_row(column: dict[str, Any]) -> dict[str, Any]:
    scale = {"scale": column["scale"]} if "scale" in column else {}
    if "counts" in column:
        order = {name: place for place, name in enumerate(column.get("order", ()))}
        counts = sorted(column["counts"].items(), key=lambda one: order.get(one[0], len(order)))
        parts = [f"{name} ({show(count)})" for name, count in counts]
        if "others" in column:
            parts = [*parts[:4], f"… ({column['distinct']} different)"]
        shown = ", ".join(parts)
    elif "median" in column:
        shown = f"{show(column['min'])} to {show(column['max'])}, median {show(column['median'])}"
    else:
        shown = "nested"
    return {**scale, "values": shown, "missing": column["missing"]}


def _remarks(facts: dict[str, Any]) -> list[str]:
    remarks = []
    repeated = facts["repeated_texts"]
    if repeated["texts"]:
        example = ", ".join(repeated["examples"][0])
        texts, items = show(repeated["texts"]), show(repeated["items"])
        remarks.append(f"{texts} texts occur in several items ({items} items), such as {example}")
    lonely = [(what, facts[f"{what}_without_judgments"]) for what in ("items", "raters")]
    remarks += [f"{show(count)} {what} have no judgments" for what, count in lonely if count]
    return [*remarks, *(one.rstrip(".") for one in facts["undeclared"]), *facts["notes"]]
