"""Rehearsals: simulated people walk the study, recruited through a fake platform, before real ones do.

`answering` says who comes, how they behave and what they answer, `walker` is one person who fills in forms, and
`rehearse` lets them all come in simulated time. Nothing of it stays.
"""
