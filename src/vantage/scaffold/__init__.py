"""What `vantage new` writes: an instrument, a study, or a project folder with both and some data.

`files/` holds the files as they are written, with `$name` and `$title` to be filled in; `writing` puts them in place.
`new_study` makes a study for people from a table of texts (`vantage collect new`).
May import everything but the command line. The next kind of file is a function in `writing`.
"""
