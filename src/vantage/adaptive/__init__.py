"""Adaptive collection: which item the next rating should go to, and when there is enough.

`until` says how well the distribution of each item's answers is known and holds the rules of a study file, `simulated`
what a rule saves beside an oracle, and `sequential` an interval for alpha that may be looked at after every rating. May
import measures and planning; knows nothing of databases or pages. The next rule is a goal in `until`.
"""
