"""Measures of rationales, the reasons that raters write: how alike they are, what they copy, hedge and talk about.

`overlap` and `semantic` compare texts, `agreement` says which ones (with chance baselines), `agreement` and `form` have
the measures, `topics` the themes. May import what `vantage.measures` may. To add a likeness of two texts, write a
function from pairs to scores and name it in `semantic.Likeness`; to add a property of one text, add it to `form.form`.
"""
