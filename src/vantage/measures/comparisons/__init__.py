"""Scores of texts from comparisons: pairs, and the best and the worst of a tuple."""
