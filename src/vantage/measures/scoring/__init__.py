"""Scoring: raters against a reference, against people one by one, and models in the place of a person."""
