"""Draws the packages and which imports which, from the code: docs/images/structure.svg."""

from __future__ import annotations

import ast
from html import escape

from tests.test_architecture import MODULES, ORDER, imported, package
from tests.trees import SOURCE

SMALL = {"__main__", "_version", "_lazy", "errors", "notebook", "plugins"}
# The last package of each group, from the left, and its colour: what is asked and kept, measured, judged, shown.
GROUPS = {"corpora": "#e8eef7", "perspective": "#e5f3ec", "collect": "#fbf0df", "cli": "#f3e9f4"}
WIDTH, LEFT, TOP, STEP, HEIGHT = 920, 180, 20, 52, 40


def uses() -> set[tuple[str, str]]:
    """Which package imports from which."""
    pairs = {(package(path), other) for path in MODULES for other in imported(path)}
    return {(one, other) for one, other in pairs if one != other and not {one, other} & SMALL}


def sentence(name: str) -> str:
    """The first sentence of a package's docstring."""
    path = SOURCE / name / "__init__.py" if (SOURCE / name).is_dir() else SOURCE / f"{name}.py"
    text = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]
    text = text.removeprefix(f"{name.capitalize()}: ").split("; ")[0].split(". ")[0].rstrip(".")
    return text if len(text) < 92 else text[:91].rsplit(" ", 1)[0].rstrip(",") + " …"


def colour(name: str) -> str:
    """The colour of the group that a package belongs to."""
    return next(paint for last, paint in GROUPS.items() if ORDER.index(name) <= ORDER.index(last))


def drawing() -> str:
    """The picture: the leftmost package at the bottom, lines from a package down to those it imports."""
    packages = [name for name in reversed(ORDER) if name not in SMALL]
    middle = {name: TOP + STEP * number + HEIGHT / 2 for number, name in enumerate(packages)}
    tall = TOP * 2 + STEP * len(packages)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" font-family="sans-serif" role="img" '
        'aria-label="The packages of Vantage, cli at the top, scales at the bottom; lines lead to what is imported">',
        f'<rect width="{WIDTH}" height="{tall}" rx="8" fill="#fff"/>',
    ]
    for one, other in sorted(uses()):
        high, low = middle[one], middle[other]
        reach = 14 + 15 * abs(packages.index(other) - packages.index(one))
        bend = f"M{LEFT} {high:g} C{LEFT - reach} {high:g} {LEFT - reach} {low:g} {LEFT} {low:g}"
        parts.append(f'<path d="{bend}" fill="none" stroke="#5a6b7f" stroke-opacity=".5" stroke-width="1.2"/>')
    for name in packages:
        y = middle[name] - HEIGHT / 2
        parts += [
            f'<rect x="{LEFT}" y="{y:g}" width="{WIDTH - LEFT - 20}" height="{HEIGHT}" rx="6" fill="{colour(name)}"/>',
            f'<text x="{LEFT + 14}" y="{y + 25:g}" font-size="15" font-weight="600" fill="#1c2733">{name}</text>',
            f'<text x="{LEFT + 140}" y="{y + 25:g}" font-size="12" fill="#3b4a5a">{escape(sentence(name))}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
