"""One look for all figures: colours that everyone can tell apart, sizes that fit papers, files that repeat exactly.

Figures are plain Matplotlib objects made without pyplot, so nothing is left behind between them. Colours have a
contrast of at least three to one on white and on the dark page, and series differ in their markers too.

`inline` makes the SVG fit to stand inside a page, which allows no inline styles: every declaration becomes an
attribute; the colour of the ink becomes `currentColor`, by which a figure reads in the light, in the dark and on paper;
ids get a prefix of their own.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET
from zlib import crc32

from vantage.report.cells import minus, printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

INK: Final = "#1d2126"
"""The colour of text and axes; the page replaces it by its own, in the light and in the dark."""
FAINT: Final = "#7d8590"
"""Grid, reference lines and what stands in the background."""
PALETTE: Final = ("#0077bb", "#d55e00", "#009e73", "#b8609f", "#a57c00", "#6e7bd9", "#c9485b", "#4f8f9c")
"""For series, in their order; after Okabe and Ito (2008) and Tol (2021), with lightness moved to fit both pages."""
_SHADES: Final = ("#cfe0ee", "#7fb0d6", PALETTE[0], "#0b3a61")
"""From little to much."""
_ENDS: Final = ("#b2541a", "#d99a6c", "#8f979f", "#6aa5c9", "#1f6f9f")
"""From one end to the other, through a middle that is neither."""
PEOPLE: Final = PALETTE[1]
"""The colour of people, in every figure; others get it only where all other colours are taken."""
_PEOPLE: Final = re.compile(r"(?:all )?(?:people|persons?|humans?|annotators|experts|participants)\b.*", re.IGNORECASE)
_OTHERS: Final = [colour for colour in PALETTE if colour != PEOPLE]
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
COLUMN: Final = 3.35
"""The width of a column of a two-column paper, in inches."""
PAGE: Final = 6.9
"""The width of its page."""
LABEL: Final = 40
"""How many characters of a label are shown."""
ROW_LABEL: Final = 56
"""The same of a label that has its row to itself."""
_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"
_NEEDLESS: Final = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_FONT: Final = re.compile(r"(?:(?:normal|italic|oblique|bold|\d{3})\s+)*([\d.]+px)\s+.*")
SCALE: Final = 5 / 3
"""Pixels of the screen for a point of paper: a little more than on paper, which is held closer."""
WANTED: Final = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans Arabic", "Noto Sans Devanagari", "Noto Emoji")
"""The fonts of figures, as far as this machine has them; DejaVu Sans comes with Matplotlib and is always there."""
FONTS: Final = "DejaVu Sans, Verdana, Arial, sans-serif"


@contextmanager
def figure_style() -> Iterator[None]:
    """The settings of all figures, while one is made and while it is written."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    fonts: list[str] = [font for font in WANTED if font in known] or ["sans-serif"]
    with mpl.rc_context(), warnings.catch_warnings():
        # Not what a theme of the notebook, a file of the user's or another library has set.
        mpl.rcdefaults()
        with resources.as_file(resources.files("vantage.report") / "figures.mplstyle") as file:
            mpl.rcParams.update(mpl.rc_params_from_file(file, use_default_template=False))
        mpl.rcParams.update({"font.sans-serif": fonts, "axes.prop_cycle": cycler(color=PALETTE)})
        # A character that no font has becomes a box; the figure stays sound.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support .* natively")
        yield


def canvas(
    width: float = PAGE, height: float = 3.2, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Drawing, list[Axes]]:
    """An empty figure with its axes, row by row."""
    from matplotlib.figure import Figure as Drawing

    figure = Drawing(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def panels(
    count: int, width: float, height: float, beside: int = 3, *, shared: bool = True
) -> tuple[Drawing, list[Axes], int]:
    """A figure of some panels, each of a height, with how many of them are in a row."""
    columns = min(count, max(1, round(beside * min(1.0, width / PAGE))))
    rows = -(-count // columns)
    figure, all_axes = canvas(width, height * rows, rows, columns, sharex=shared, sharey=shared)
    for axes in all_axes[count:]:
        axes.set_axis_off()
    return figure, all_axes[:count], columns


def drawn(draw: Callable[[], Drawing]) -> str:
    """What is drawn, as SVG."""
    return _file(draw, "svg", "Date", "Creator").decode("utf-8")


def printed(draw: Callable[[], Drawing]) -> bytes:
    """What is drawn, as PDF."""
    return _file(draw, "pdf", "CreationDate", "Creator", "Producer")


def _file(draw: Callable[[], Drawing], kind: str, *without: str) -> bytes:
    """What is drawn as a file; the same figure, the same bytes."""
    with figure_style():
        drawing, file = draw(), io.BytesIO()
        # Laid out once; with a layout engine it would be drawn once more to be written.
        if (engine := drawing.get_layout_engine()) is not None:
            engine.execute(drawing)
        drawing.set_layout_engine(None)
        box = drawing.get_tightbbox().padded(0.04)
        drawing.savefig(file, format=kind, metadata=dict.fromkeys(without), bbox_inches=box)
    return file.getvalue()


def short(value: object, most: int = LABEL) -> str:
    """A label from data: short, on one line, without control characters."""
    if value is None:
        return "–"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return minus(shortened(printable(text), most))


def row_label(value: object) -> str:
    """The label of a row, up to half of the width; of a longer one the middle is left out, since ends tell rows apart.

    >>> row_label("openrouter:meta-llama/llama-4-maverick-instruct, few-shot (sentiment of tweets)")
    'openrouter:meta-llama/llama…few-shot (sentiment of tweets)'
    """
    text, half = short(value, 4 * ROW_LABEL), ROW_LABEL // 2
    return text if len(text) <= ROW_LABEL else f"{text[: half - 1].rstrip()}…{text[-half - 2 :].lstrip()}"


def colours(names: Sequence[Any]) -> dict[Any, str]:
    """A colour for each of the names: people have theirs, others one that follows from the name as far as it is free.

    >>> colours(["m1", "people"])["people"] == PEOPLE
    True
    """
    palette: dict[Any, str] = {}
    for name in sorted(dict.fromkeys(names), key=lambda name: not _PEOPLE.fullmatch(str(name))):
        start = crc32(str(name).encode()) % len(_OTHERS) if str(name) else 0
        order = [*([PEOPLE] if _PEOPLE.fullmatch(str(name)) else []), *_OTHERS[start:], *_OTHERS[:start], PEOPLE]
        palette[name] = next((colour for colour in order if colour not in palette.values()), order[0])
    return palette


def scale_colours(names: Sequence[Any], *, ordered: bool, bipolar: bool = False) -> dict[Any, str]:
    """Colours of the answers of a scale: light to dark; where it has a middle that is neither, from one to another.

    Answers without an order have the colours of series.

    >>> list(scale_colours(["no", "so", "yes"], ordered=True).values())
    ['#cfe0ee', '#4094c8', '#0b3a61']
    """
    if not ordered and not bipolar:
        return colours(names)
    stops = [[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in (_ENDS if bipolar else _SHADES)]
    last, palette = max(len(names) - 1, 1), {}
    for number, name in enumerate(names):
        at, part = divmod(number * (len(stops) - 1), last)
        low, high = stops[at], stops[min(at + 1, len(stops) - 1)]
        mixed = (round(a + (b - a) * part / last) for a, b in zip(low, high, strict=True))
        palette[name] = "#" + "".join(f"{one:02x}" for one in mixed)
    return palette


def colour_of(name: Any) -> str:
    """The colour of a name that is no series."""
    return PEOPLE if _PEOPLE.fullmatch(str(name)) else PALETTE[0]


def markers(names: Sequence[Any]) -> dict[Any, str]:
    """A marker for each of the names, one per colour, so that colour is never the only difference."""
    return {name: MARKERS[PALETTE.index(colour)] for name, colour in colours(names).items()}


def inline(svg: str, prefix: str, title: str) -> str:
    """The SVG as an element of a page, with a title for those who cannot see it."""
    root = ET.fromstring(svg)  # noqa: S314 - what Matplotlib has just written, nothing else
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in _NEEDLESS:
                parent.remove(child)
    for element in list(root.iter()):
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
    for declaration in element.attrib.pop("style", "").split(";"):
        name, colon, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            name, value = "font-size", size[1] if (size := _FONT.fullmatch(value)) else ""
        if colon and value and name not in ("font-family", "white-space"):
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
