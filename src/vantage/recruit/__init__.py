"""Recruiting: people from Prolific or any panel find the study, are paid once, and free their seats when they leave.

`Recruiter` is what every platform can do; `on_prolific` does it through Prolific's API (`prolific` is the client), and
`by_link` for platforms that know a link and a code. Whatever decides about money is a `PaymentPlan` first. `standing`
says what becomes of each submission, `ledger` records every payment before it is made, and `visitors` asks Prolific who
enters. `fake` is a Prolific for tests and rehearsals, and `rehearsal` lets simulated people fill in a study's forms
before real ones do. May import `collect` and what it imports. To add a platform, write a class with the methods of
`Recruiter` and list it in `opened`.
"""
