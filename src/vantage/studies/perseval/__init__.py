"""The perseval study: whose perspective does a model take, and for whom does it work?

`sources` reads the corpora, `cells` says what can be run, `learning` and `prompting` run it, `stored` keeps predictions
as judgments, and `analysis` scores them. `whom`, `scoring` and `traits` hold the functions that `recipe.yaml`
names: each takes the analysis and gives a frame. `printed.csv` has the paper's scores of raters that do not come with
Vantage.
"""
