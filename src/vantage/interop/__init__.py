"""Other evaluation tools: the items and questions of a corpus as tasks that run there, and their logs as judgments.

May import `instruments`, `corpora` and `raters`. `asked` says what is asked of whom and what people answered;
`tasks` writes it for Inspect and for the lm-evaluation-harness, `inspect_log` reads Inspect's logs.
The next tool gets a module here and a line in `corpora.writers.WRITERS` or `corpora.readers.READERS`.
"""
