"""Weights of raters, poststratification, and whose label it is."""
