"""The appraisals study: 24 ways to see one's own situation, as people and language models rate and explain them.

`study` is the entry; `collecting` reads the release and asks models, `coding` turns judgments into matrices, and each
further module makes one part of the report. Nothing here is for other studies: what they could use lives in
`vantage.measures`. To add a part, write a function from an `Analysis` to a `Section` and call it in `study`.
"""
