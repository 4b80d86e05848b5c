"""Texts: what answers in words say (keywords, dictionaries, diversity), and maps and clusters of items."""
