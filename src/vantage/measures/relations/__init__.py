"""Relations: correlations of questions, comparisons of groups, and rankings of systems."""
