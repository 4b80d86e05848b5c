"""Reading replies: what a model wrote, turned into value, status and rationale, with the rule that read it.

May import `scales`, `instruments` and the dialects of thinking. `parse_reply` reads the reply to one question,
`parse_replies` one reply to several. `parse` reads the forms that prompts ask for, strictly; `prose` what others
recorded; `numbers`, `labels`, `opt_outs` and `refusals` know how an answer is written and `slots` where it stands;
`loose_json` and `json_answers` read JSON, `lists` several questions, `own_words` and `keywords` texts; `copied` knows
words that are not the rater's own. A new form of answer belongs in `slots.read_slot`, a new form of reply in
`parse.Parser.parse`.

The rule of an answer, an opt-out or a refusal is `PLACE:FORM`; that of a reply that is `unparsed` names the obstacle.
docs/replies.md lists places, forms and obstacles.
"""

from vantage.raters.replies.lists import parse_replies
from vantage.raters.replies.parse import parse_reply
from vantage.raters.replies.reply import ParsedReply

__all__ = ["ParsedReply", "parse_replies", "parse_reply"]
