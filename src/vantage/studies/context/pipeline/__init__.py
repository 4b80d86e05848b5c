"""The pipeline of the context study: which statements are ambiguous, and conversations written around them.

`simulation` lets a model answer as many readers, `ambiguity` reads doubt off their answers, off people's votes and off
words alone, `thresholds` flags items and `detection` says how well; `generation` writes and checks conversations. Its
public names are those of `vantage.context`. May import everything up to `runs`. The next method of detection is a line
in `simulation.METHODS` or `ambiguity.SURFACE`.
"""
