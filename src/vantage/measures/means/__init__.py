"""Means and shares of answers, with the items and the raters that they generalise to.

To add one, give its contributions per item to `Powered`, so that a model can power it.
"""
