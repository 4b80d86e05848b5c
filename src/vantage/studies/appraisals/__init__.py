"""The appraisals study: 24 ways to see one's own situation, as people and language models rate and explain them.

`study` reads the release and asks models; `coding` turns judgments into matrices, and the further modules
hold the functions that `recipe.yaml` shows. What another study could use lives in `vantage.measures`. To add a table,
write a function from an `Appraised` to a frame and name it in the recipe.
"""
