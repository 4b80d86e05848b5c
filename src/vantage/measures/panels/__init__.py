"""Panels: how much several models that judge the same items tell beyond one of them.

`answers` holds what members and people answered in a form whose squared distance is a score, with the error
correlations and the effective number of votes, `choice` the cheapest sufficient panel, `preference` whether a model
favours texts of its own family, and `panel` the measure. `rater` makes a panel a rater of its own.
"""
