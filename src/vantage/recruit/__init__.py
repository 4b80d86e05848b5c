"""Recruiting: people from Prolific or any panel find the study, are paid once, and free their seats when they leave.

`Recruiter` is what every platform can do; `on_prolific` does it through Prolific's API (`prolific` is the client), and
`by_link` for platforms that know a link and a code. `ledger` records every payment before it is made. `fake` is a
Prolific for tests and rehearsals, and `rehearsal` lets simulated people walk a study before real ones do. May import
`collect` and what it imports. To add a platform, write a class with the methods of `Recruiter` and list it in `opened`.
"""
