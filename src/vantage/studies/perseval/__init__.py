"""The perseval study: whose perspective does a model take, and for whom does it work?

`sources` reads the corpora and keeps predictions in them as judgments, `cells` says what can be run, `learning` runs
it, and `analysis` scores the predictions. `analysis` and `whom` hold the functions that `recipe.yaml` names:
each takes the analysis and gives a frame. `printed.csv` has the paper's scores of raters that do not come with Vantage.
"""
