"""Response audits: does a rater answer the question, or the way in which it was put?

`cards` splits judgments into one card per rater with the presentation of every answer, `regression` estimates shifts
within items, `effects` is the audit, `balanced_gain` what averaging over presentations gains.
The next effect is a function in `effects` that gives rows; its phrases go into `phrases.yaml`.
"""
