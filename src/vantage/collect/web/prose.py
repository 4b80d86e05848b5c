"""Guidelines, warnings and consent as HTML: paragraphs and lists only, everything else escaped.

Texts of instruments are plain: blank lines separate paragraphs, and a line that starts with a hyphen is a list item.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup

_POINT = re.compile(r"^\s*[-*•]\s+")


@lru_cache(maxsize=512)
def prose(text: str) -> Markup:
    r"""The text as paragraphs and lists.

    >>> prose("Read it.\n\n- Judge the <b>reply</b>.\n- Take\n  your time.")
    Markup('<p>Read it.</p><ul><li>Judge the &lt;b&gt;reply&lt;/b&gt;.</li><li>Take your time.</li></ul>')
    """
    parts: list[Markup] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        paragraph: list[str] = []
        points: list[str] = []
        for line in block.splitlines():
            if _POINT.match(line):
                points.append(_POINT.sub("", line))
            elif points:
                points[-1] += " " + line.strip()
            else:
                paragraph.append(line.strip())
        if paragraph:
            parts.append(Markup("<p>{}</p>").format(" ".join(paragraph)))
        if points:
            parts.append(Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(p) for p in points)))
    return Markup("").join(parts)
