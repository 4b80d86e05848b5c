"""Other tools: what annotation and evaluation software writes as corpora, and corpora as tasks that run there.

May import `instruments`, `corpora` and `raters`. `asked` says what is asked of whom and what people answered; `tasks`
writes it for Inspect and for the lm-evaluation-harness, `inspect_log` reads Inspect's logs; `label_studio` and `potato`
read exports of annotation tools, whose stored answers `answers` turns into judgments; `replies` reads what models
answered elsewhere; `huggingface`, `croissant` and `lewidi` write corpora as others publish data, and `lewidi_files`
reads the LeWiDi shared tasks.
The next tool gets a module here and a line in `corpora.writers.WRITERS` or `corpora/readers/readers.toml`.
"""
