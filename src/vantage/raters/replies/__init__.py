"""Reading replies: what a model wrote, turned into value, status and rationale, with the rule that read it.

May import `scales` and `instruments`. `parse_reply` reads the reply to one question, `parse_replies` one reply to
several. `parse` and `prose` hold the rules in their order; `numbers`, `labels`, `opt_outs` and `refusals` know how
an answer is written; `markers`, `own_lines`, `slots`, `statements` and `predicates` where it stands; `loose_json`
and `json_answers` read JSON, `lists` several questions; `copied` knows words that are not the rater's own. A new
form of answer belongs in `slots.read_slot`, a new place in `prose.Prose.parse`.

The rule of a reply with an answer, an opt-out or a refusal is `PLACE:FORM`. Places, in the order in which they
are tried (what is set apart as the answer goes before what is only said):

| place      | the answer is                                                                              |
| ---------- | ------------------------------------------------------------------------------------------ |
| `tag`      | between tags (`<likert>7</likert>`) or in a LaTeX box; of several, the last                |
| `json`     | in JSON, under a key such as answer, rating, label or the question's name; the last object |
| `whole`    | all there is, apart from punctuation, markdown and the scale repeated from the prompt      |
| `lead`     | at the beginning, set off by a line break or punctuation; nothing behind contradicts it    |
| `marker`   | announced ("my rating is 6", "Final answer: yes", "I would give it a 4"); the last counts  |
| `line`     | alone on a line, after a name and a colon, or before a colon                               |
| `end`      | the whole last sentence                                                                    |
| `prose`    | stated in running text ("it was a 3", "they are not threatened at all")                    |
| `table`    | (`parse_replies`) in the row of a table that begins with the question's name               |
| `cut`      | on a line of its own, in a closed tag or in JSON, in a reply that was cut at the limit on its length |
| `numbered` | (`parse_replies`) on the numbered line of the question, where every question has one       |

| form        | the answer is written as                                                                  |
| ----------- | ----------------------------------------------------------------------------------------- |
| `number`    | a code of the scale, in digits: "7", "+2", "−2", "7 (completely)"                         |
| `fraction`  | a code out of the top of this scale: "4/5", "4 out of 5"                                  |
| `word`      | a number in words: "seven", "minus two"                                                   |
| `label`     | the wording of one option, in any case; its part behind a colon; "not … at all"           |
| `typo`      | such a wording, one or two letters off, and no other option nearly as close               |
| `letter`    | the letter of an option, where every option has a wording: "(B)", "b."                    |
| `predicate` | the question's own predicate: "it is not sarcastic" to "is this sarcastic?"               |
| `opt-out`   | NA, "not mentioned", "ambiguous", or the opt-out's own label                              |
| `phrase`    | an opt-out in other words: "the text does not say", "it cannot be told"                   |
| `refusal`   | a refusal to judge                                                                        |

The rule of a reply that is `unparsed` names the obstacle:

| obstacle      | why there is no answer                                                                  |
| ------------- | --------------------------------------------------------------------------------------- |
| `not-text`    | the reply is no text                                                                    |
| `empty`       | there is nothing in it                                                                  |
| `null`        | JSON with null as the answer                                                            |
| `cut`         | the model was stopped by the limit on the reply's length before its answer line         |
| `thinking`    | all tokens went into thinking, and the answer is empty                                  |
| `truncated`   | it breaks off before the answer, or inside it                                           |
| `range`       | two numbers: "3 or 4", "between 3 and 4"; on any scale, for a midpoint would be a guess |
| `decimal`     | a number between two points of the scale                                                |
| `off-scale`   | a number beyond the scale                                                               |
| `other-scale` | a number out of the top of another scale: "7/10" to a question from 1 to 9              |
| `several`     | more than one answer                                                                    |
| `options`     | all options are listed and none is chosen                                               |
| `conflict`    | two answers that exclude each other: a number and NA, a number and another option       |
| `negated`     | an answer is denied: "not a 5", "I do not agree"                                        |
| `hedged`      | an answer is only offered as a possibility, or asked about: "maybe 6", "is it a 4?"     |
| `copied`      | the numbers or most of the words come from the item                                     |
| `echo`        | the numbers come from the prompt: the scale or the question repeated                    |
| `no-opt-out`  | an opt-out that this scale does not offer                                               |
| `missing`     | (`parse_replies`) the question does not occur                                           |
| `no-answer`   | none of the above, and no rule finds an answer                                          |
"""

from vantage.raters.replies.lists import parse_replies
from vantage.raters.replies.parse import parse_reply
from vantage.raters.replies.reply import ParsedReply

__all__ = ["ParsedReply", "parse_replies", "parse_reply"]
