"""The demo: a real if very small model maps 24 social groups, and synthetic raters show what the measures say.

It runs offline in a few minutes and shows every part of Vantage once. Nothing in it is a finding about people. `study`
collects, `mapping` sets the model's map beside people's, and `recipe.yaml` says what the report shows.
"""
