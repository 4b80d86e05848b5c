"""Rating models: mixed-effects regression, many-facet Rasch models, and differential item functioning.

`crossed` has the linear algebra of crossed random effects, `gaussian` and `cumulative` the two likelihoods, `explain`,
`facets` and `dif` the measures. May import what other measures may. A further likelihood needs its derivatives and uses
`crossed.Factored` for everything else.
"""
