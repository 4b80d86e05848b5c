"""Raters: whatever turns items into judgments. Chat models in every prompting style, personas, reply parsing.

May import `scales`, `instruments`, `corpora` and `measures`. `replies/` reads what a model wrote, `personas` holds
who it may speak as, `models/` reaches the models, `style` and `prompts` say how they are asked, `chat` joins
them into a rater. `trained/` holds raters that learned from people.
"""
