"""Other evaluation tools: the items and questions of a corpus as tasks that run there, and their logs as judgments.

May import `instruments`, `corpora`, `perspective` and `raters`. `asked` says what is asked of whom and what people
answered; `tasks` writes it for Inspect and for the lm-evaluation-harness, `inspect_log` reads Inspect's logs;
`submissions` has the shared tasks on Learning With Disagreements and their files.
The next tool gets a module here and a line in `corpora.writers.WRITERS` or `corpora.readers.READERS`.
"""
