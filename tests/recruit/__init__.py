"""Tests of recruiting, against a fake Prolific over real HTTP."""
