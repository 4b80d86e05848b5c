"""The demo: planted beside found. Synthetic raters in whom known things are planted, and a real if very small model.

It runs offline in about a minute and shows what Vantage finds, what it does not, and how sure it is. Nothing in it is
a finding about people. `study` collects and sets what was planted beside what was found, `truths.yaml` says in words
what was planted, `planted.csv` holds its true values, and `recipe.yaml` says what the report shows. The
generative model is `tools/make_planted_corpus.py`.
"""
