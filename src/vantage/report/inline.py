"""A Matplotlib SVG made fit to stand inside a page: no styles, no scripts, and ink that follows the page's own.

The page allows no inline styles, so every declaration becomes an attribute; the colour of the ink becomes
`currentColor`, by which a figure reads in the light, in the dark and on paper; ids get a prefix of their own.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from vantage.report.style import INK

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_NEEDLESS: Final = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_FONT: Final = re.compile(r"(?:(?:normal|italic|oblique|bold|\d{3})\s+)*([\d.]+px)\s+.*")
SCALE: Final = 5 / 3
"""Pixels of the screen for a point of paper: a little more than on paper, which is held closer."""
TIP: Final = "tip: "
"""How the id of an artist begins that says what a browser shows where the pointer rests on it."""
FONTS: Final = "DejaVu Sans, Verdana, Arial, sans-serif"


def inline(svg: str, prefix: str, title: str) -> str:
    """The SVG as an element of a page, with a title for those who cannot see it."""
    root = ET.fromstring(svg)  # noqa: S314 - what Matplotlib has just written, nothing else
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _NEEDLESS:
                parent.remove(child)
    for element in list(root.iter()):
        if element.get("id", "").startswith(TIP):
            tip = ET.Element(f"{{{_SVG}}}title")
            tip.text = element.attrib.pop("id").removeprefix(TIP)
            element.insert(0, tip)
        _attributes(element, prefix)
    size = [float(root.attrib.pop(side).removesuffix("pt")) for side in ("width", "height")]
    root.attrib.update(
        {
            "role": "img",
            "aria-labelledby": f"{prefix}-title",
            "class": "drawing",
            "width": f"{size[0] * SCALE:.0f}",
            "height": f"{size[1] * SCALE:.0f}",
            "font-family": FONTS,
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
        }
    )
    root.attrib.pop("version", None)
    heading = ET.Element(f"{{{_SVG}}}title", {"id": f"{prefix}-title"})
    heading.text = title
    root.insert(0, heading)
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    return ET.tostring(root, encoding="unicode")


def _attributes(element: ET.Element, prefix: str) -> None:
    """Declarations as attributes, references with the prefix."""
    for name, value in _declarations(element.attrib.pop("style", "")):
        element.attrib[name] = value
    if element.tag == f"{{{_SVG}}}text" and "fill" not in element.attrib:
        element.attrib["fill"] = "currentColor"
    for name, value in list(element.attrib.items()):
        if name == "id":
            element.attrib[name] = f"{prefix}-{value}"
        elif name == _LINK:
            del element.attrib[name]
            element.attrib["href"] = f"#{prefix}-{value[1:]}" if value.startswith("#") else value
        elif name in ("fill", "stroke") and value.lower() == INK:
            element.attrib[name] = "currentColor"
        elif "url(#" in value:
            element.attrib[name] = _REFERENCE.sub(lambda match: f"url(#{prefix}-{match[1]})", value)


def _declarations(style: str) -> list[tuple[str, str]]:
    declarations = []
    for declaration in style.split(";"):
        name, colon, value = (part.strip() for part in declaration.partition(":"))
        if not colon or name in ("font-family", "white-space"):
            continue
        if name == "font":
            size = _FONT.fullmatch(value)
            if size:
                declarations.append(("font-size", size[1]))
        else:
            declarations.append((name, value))
    return declarations
