"""Reading replies: what a model wrote, turned into value, status and rationale, with the rule that read it.

May import `scales` and `instruments`. `parse_reply` reads the reply to one question, `parse_replies` one reply to
several. `parse` and `prose` hold the rules in their order; `numbers`, `labels`, `opt_outs` and `refusals` know how
an answer is written; `markers`, `own_lines`, `slots`, `statements` and `predicates` where it is; `loose_json`
and `json_answers` read JSON, `lists` several questions, `own_words` and `keywords` texts; `copied` knows words that are
not the rater's own, `doubts` what only looks like an answer, `other_languages` what counts outside English. A new form
of answer belongs in `slots.read_slot`, a new place in `prose.Prose.parse`.

The rule of an answer, an opt-out or a refusal is `PLACE:FORM` (what is set apart as the answer goes before what is only
said); that of a reply that is `unparsed` names the obstacle. docs/replies.md lists places, forms and obstacles.
"""

from vantage.raters.replies.lists import parse_replies
from vantage.raters.replies.parse import parse_reply
from vantage.raters.replies.reply import ParsedReply

__all__ = ["ParsedReply", "parse_replies", "parse_reply"]
