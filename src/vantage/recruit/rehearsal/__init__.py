"""Rehearsals: simulated people walk the real server over HTTP, through a fake recruiter, before real ones do.

`answering` says who comes, how they behave and what they answer, `forms` reads any page, `walker` is one person, and
`rehearse` lets them all come in simulated time. Nothing of it stays.
"""
