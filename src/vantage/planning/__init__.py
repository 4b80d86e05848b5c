"""Planning: how many items and raters a goal needs, before or during collection.

`model` simulates ratings, `pilot` estimates what a plan assumes from a corpus, `precision` holds the closed forms,
`simulated` what needs simulation, `adapting` what an adaptive study would save, and `plan` the frontier, the choice
under a budget and the settings of a study file.
May import measures, corpora and adaptive. The next goal is a function in `precision` or `simulated`, listed in `goals`.
"""
