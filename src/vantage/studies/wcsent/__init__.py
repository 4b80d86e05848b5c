"""The W&C-Sent study: how trustworthy, sociable and competent sentences make their targets look (Ayesh et al. 2026).

`study` holds the recipe: `learning` and `study` collect, and each `*_part` module writes one part of the report;
`printed` holds the figures that the paper prints. May import everything but the command line. A further analysis is
a function from corpus to section in a part of its own, called in `study`.
"""
