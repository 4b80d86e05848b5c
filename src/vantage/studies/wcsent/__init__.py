"""The W&C-Sent study: how trustworthy, sociable and competent sentences make their targets look (Ayesh et al. 2026).

`study` collects; `people`, `latent` and `predictions` hold the functions that `recipe.yaml` shows, and `published.yaml`
the figures that the paper prints. May import everything but the command line. A further analysis is a
function from a `WarmthAnalysis` to a frame, named in the recipe.
"""
