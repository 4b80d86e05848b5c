"""The pipeline of the context study: which statements are ambiguous, and conversations written around them.

`ambiguity` reads doubt off answers and off words alone, `simulation` lets a model answer as many readers, and
`detection` flags items and says how well; `generation` writes and checks conversations. Its public names are those of
`vantage.context`. May import everything up to `runs`. The next method of detection is a line in `simulation.METHODS` or
`ambiguity.SURFACE`.
"""
