"""Components of variance and what follows: the reliability of means and of split halves, the quality of single raters.

Whatever rests on components uses `variances`: restricted maximum likelihood, and pivots for intervals.
"""
