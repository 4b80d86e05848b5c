"""Batches: requests that a provider answers within a day, mostly for half the price.

`engine` gathers requests into batches, submits, polls and collects them, and keeps in the run store which request is in
which batch, so that a run that was killed collects what it had submitted. May import everything in `runs`. The next
provider is a class with the methods of `protocols.BatchProtocol` and a line in `protocols.PROTOCOLS`.
"""
