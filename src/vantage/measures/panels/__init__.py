"""Panels: how much several models that judge the same items tell beyond one of them.

`answers` holds what members and people answered in a form whose squared distance is a score, with the error
correlations, the effective number of votes and the cheapest sufficient panel. `panel` has the measure, whether a model
favours texts of its own family, and the panel as a rater of its own.
"""
