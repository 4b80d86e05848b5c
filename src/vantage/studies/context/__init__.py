"""The context study: which statements are ambiguous, and does a conversation around them settle it?

`recipe.yaml` is the report, `tasks` the data of each task, `study` asks the models, and the other modules hold the
functions of the recipe. May import everything but the command line. The next task is an entry in `tasks.yaml`.
"""
