"""Other tools: what annotation and evaluation software writes as corpora, and corpora as tasks that run there.

May import `instruments`, `corpora`, `perspective` and `raters`. `asked` says what is asked of whom and what people
answered; `tasks` writes it for Inspect and for the lm-evaluation-harness, `inspect_log` reads Inspect's logs;
`label_studio` and `potato` read exports of annotation tools, whose stored answers `answers` turns into judgments;
`replies` reads what models answered elsewhere; `huggingface`, `croissant` and `lewidi` write corpora as others publish
data; `lewidi_files` reads the shared tasks on Learning With Disagreements, and `submissions` has their submissions.
`predictions` stores predictions of every form in a corpus.
The next tool gets a module here, a line in `corpora.writers.WRITERS` or `corpora/readers/readers.toml`, and its role in
`vantage/__init__.py`.
"""
