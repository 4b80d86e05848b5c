"""Aggregation: one value or one distribution per item, by votes, averages or models of raters."""
