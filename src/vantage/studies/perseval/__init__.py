"""The perseval study: whose perspective does a model take, and for whom does it work?

`study` holds the recipe: `sources` reads the corpora, `cells` says what can be run, `learning` and `prompting` run it,
`stored` keeps predictions as judgments; each `*_part` module writes one part of the report, and `printed` holds the
figures of the paper. May import everything but the command line. A further analysis is a function from evaluated
cells to a section in a part of its own, called in `study`.
"""
