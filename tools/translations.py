"""Collects the sentences that participants read into the catalogues: `make translations`.

A new language begins with an empty file: `touch src/vantage/collect/locale/sv.po`, then `make translations`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT: Final = Path(__file__).resolve().parents[1]
COLLECT: Final = ROOT / "src" / "vantage" / "collect"
LOCALE: Final = COLLECT / "locale"
FILES: Final = [("**.py", "python"), ("web/templates/*.html", "jinja2.ext:babel_extract")]
"""Where sentences are; the researcher's pages, in `web/templates/admin`, are English."""
KEYWORDS: Final = {"sentence": None, "_": None, "gettext": None, "ngettext": (1, 2)}


@cache
def sentences() -> Catalog:
    """Every sentence of the code and the templates, in English."""
    catalogue = Catalog(project="vantage", charset="utf-8", creation_date=datetime(2026, 1, 1, tzinfo=UTC))
    messages = extract_from_dir(
        COLLECT, FILES, keywords=KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    )
    for file, line, message, comments, _ in messages:
        catalogue.add(message, locations=[(file, line)], auto_comments=comments)
    return catalogue


def written(path: Path) -> Catalog:
    """A catalogue as it is on disk."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def main() -> None:
    """Updates every catalogue."""
    template = sentences()
    for path in sorted(LOCALE.glob("*.po")):
        catalogue = written(path)
        for known in list(catalogue.obsolete.values()):
            # A sentence that was gone for a while comes back with its translation.
            live = catalogue.get(known.id)
            if live is None or not any(live.string or ()):
                catalogue.delete(known.id)
                catalogue[known.id] = known
        catalogue.obsolete.clear()
        catalogue.update(template, no_fuzzy_matching=True)
        catalogue.fuzzy, catalogue.version, catalogue.msgid_bugs_address = False, "1", ""
        with path.open("wb") as file:
            write_po(file, catalogue, width=120, no_location=True, sort_output=True)


if __name__ == "__main__":
    main()
