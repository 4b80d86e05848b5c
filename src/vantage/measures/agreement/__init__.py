"""Agreement: alpha, kappas, raw agreement and intraclass correlations of raters who judged the same items.

A measure is a function with `@measure` in its own module; list it in `vantage.measures.HOMES`.
"""
