"""From the raters there are to the people who are meant: poststratification, and whose label it is.

Weights of raters are made in `vantage.corpora.weighting` and taken by the kernel. To add a measure that compares
targets, write it beside `whose` and list it in `vantage.measures.HOMES`.
"""
