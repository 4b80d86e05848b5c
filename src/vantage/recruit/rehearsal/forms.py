"""A page as a person without a script sees it: what there is to read, one form, its fields and buttons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from lxml import html

FieldKind = Literal["choice", "several", "number", "text", "long text"]
ASIDE: Final = ("withdraw", "logout", "language", "draft")
"""Last parts of addresses whose forms do not lead on."""
HIDDEN: Final = "ancestor-or-self::details or ancestor-or-self::*[contains(@class, 'vh')]"


@dataclass
class FormField:
    """Something to fill in."""

    name: str
    kind: FieldKind
    asks: str
    """The text beside it."""
    options: list[tuple[str, str]] = field(default_factory=list)
    """Values to choose from, with what is written beside them."""
    required: bool = False
    low: float | None = None
    high: float | None = None


@dataclass
class Page:
    """A page."""

    path: str
    heading: str
    item: str
    """What is judged, as text; empty on other pages."""
    instruction: str
    """An instruction shown with the item."""
    words: int
    """Words to read, without what is folded."""
    action: str = ""
    """Where the form goes; empty where there is none."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    fields: list[FormField] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of each button, both empty where it has none."""
    code: str = ""
    """The completion code that the page shows or links to."""
    errors: list[str] = field(default_factory=list)
    leads: str = ""
    """Where the first link that looks like a button goes."""
    own_link: str = ""
    """A link with which the person can continue in another browser."""

    @property
    def name(self) -> str:
        """What kind of page it is, in words."""
        kind = re.sub(r"\d+", "N", self.path).strip("/") or "start"
        about = self.item or self.heading
        return f"{kind}: {about[:70]}" if about else kind


def read_page(text: str, path: str) -> Page:
    """Reads the HTML of a page."""
    tree: Any = html.document_fromstring(text or "<html></html>")
    main = next(iter(tree.xpath("//main")), tree)
    seen = " ".join(main.xpath(f".//text()[not({HIDDEN}) and not(ancestor::script)]"))
    page = Page(
        path=urlsplit(path).path,
        heading=_text(next(iter(main.xpath(".//h1")), None)),
        item=_text(next(iter(main.xpath(".//*[@id='item']")), None)),
        instruction=_text(next(iter(main.xpath(".//*[contains(@class, 'instruction')]")), None)),
        words=len(seen.split()),
        code=_code(main),
        own_link=next(iter(main.xpath(".//a[contains(@href, '?continue=')]/@href")), ""),
        leads=next(iter(main.xpath(".//a[contains(@class, 'button')]/@href")), ""),
        errors=[_text(one) for one in main.xpath(".//*[@role='alert']//li | .//*[contains(@class, 'error')]")],
    )
    forms = main.xpath(".//form[translate(@method, 'POST', 'post')='post']")
    form = next((one for one in forms if (one.get("action") or "").rstrip("/").rpartition("/")[2] not in ASIDE), None)
    if form is None:
        return page
    page.action = urlsplit(form.get("action") or path).path
    page.hidden = {one.get("name"): one.get("value") or "" for one in form.xpath(".//input[@type='hidden'][@name]")}
    page.fields = _fields(form)
    page.buttons = [
        (one.get("name") or "", one.get("value") or "")
        for one in form.xpath(".//button[not(@type) or @type='submit'] | .//input[@type='submit']")
        if not one.get("formaction")
    ]
    return page


def _fields(form: Any) -> list[FormField]:
    fields: dict[str, FormField] = {}
    for one in form.xpath(".//input[@name] | .//select[@name] | .//textarea[@name]"):
        name, kind = one.get("name"), (one.get("type") or "text").lower()
        if kind in ("hidden", "submit", "button", "file"):
            continue
        if one.tag == "select":
            options = [(o.get("value", _text(o)), _text(o)) for o in one.xpath(".//option") if o.get("value", "x")]
            fields[name] = FormField(name, "choice", _asks(one), options, one.get("required") is not None)
        elif kind in ("radio", "checkbox"):
            known = fields.setdefault(name, FormField(name, "choice" if kind == "radio" else "several", _asks(one)))
            known.options.append((one.get("value", "on"), _label(one)))
            known.required |= one.get("required") is not None
        else:
            low, high = _ends(one)
            number = kind in ("range", "number") or one.get("inputmode") in ("numeric", "decimal")
            made: FieldKind = "number" if number else "long text" if one.tag == "textarea" else "text"
            required = one.get("required") is not None
            fields[name] = FormField(name, made, _asks(one), [], required, low, high)
    return list(fields.values())


def _ends(one: Any) -> tuple[float | None, float | None]:
    around = next(iter(one.xpath("ancestor::*[@data-low][1]")), None)
    pairs = [(one.get("min"), one.get("max"))]
    pairs += [] if around is None else [(around.get("data-low"), around.get("data-high"))]
    low, high = next((pair for pair in pairs if pair != (None, None)), (None, None))
    return (None if low is None else float(low)), (None if high is None else float(high))


def _asks(one: Any) -> str:
    """The question that a field belongs to: the legend around it, or its label."""
    legend = next(iter(one.xpath("ancestor::fieldset[1]/legend")), None)
    return _text(legend) if legend is not None else _label(one)


def _label(one: Any) -> str:
    around = next(iter(one.xpath("ancestor::label[1]")), None)
    if around is None and one.get("id"):
        around = next(iter(one.getroottree().xpath("//label[@for=$id]", id=one.get("id"))), None)
    return _text(around)


def _code(main: Any) -> str:
    shown = _text(next(iter(main.xpath(".//*[contains(@class, 'code')]")), None))
    links = [code_of(address) for address in main.xpath(".//a/@href")]
    return next((code for code in links if code), shown)


def code_of(address: str) -> str:
    """The completion code in an address of the platform."""
    match = re.search(r"[?&]cc=([^&]+)", address)
    return match.group(1) if match else ""


def _text(one: Any) -> str:
    return "" if one is None else " ".join(one.text_content().split())
