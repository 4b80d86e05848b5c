"""The context study: which statements are ambiguous, and does a conversation around them settle it?

`study` holds the recipe, `tasks` the data of each task, `collecting` asks the models; each `*_part` module writes one
part of the report. May import everything but the command line. The next task is a line in `tasks.TASKS`, the next
analysis a function from corpus to sections in a part of its own.
"""
