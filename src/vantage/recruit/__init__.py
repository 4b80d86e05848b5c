"""Recruiting: people from Prolific find the study, are paid once, and free their seats when they leave.

`on_prolific` does it through Prolific's API (`prolific` is the client). Whatever decides about money is a `PaymentPlan`
first. `standing` says what becomes of each submission, `ledger` records every payment before it is made, and `visitors`
asks Prolific who enters. `rehearsal` lets simulated people fill in a study's forms before real ones do. May import
`collect` and what it imports.
"""
