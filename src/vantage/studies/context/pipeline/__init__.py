"""The pipeline of the context study: which statements are ambiguous, and conversations written around them.

`readers` and `simulation` let a model answer as many readers, `ambiguity` reads doubt off their answers and off
people's votes, `surface` needs no model, `thresholds` flags items and `detection` says how well; `generation` writes
and checks conversations. Its public names are those of `vantage.context`. May import everything up to `runs`. The next
method of detection is a line in `readers.METHODS` or `surface.SURFACE`.
"""
