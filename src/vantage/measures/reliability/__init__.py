"""Reliability: split halves, needed raters, decision studies, components of variance, and the quality of single raters.

Whatever rests on variance components uses `variance_design` (estimates) and `variance_draws` (intervals).
"""
