"""What the paper prints (Ayesh, Mohammad and Ousidhoum 2026), by question: trust, sociability, competence."""

from __future__ import annotations

from typing import Final

QUESTIONS: Final = ("trust", "sociability", "competence")
ANNOTATORS: Final = ("78", "75", "70")
ALPHA: Final = (".6", ".5", ".3")
"""Printed as 0.60, 0.50 and 0.30: one decimal, padded with a zero."""
SPLIT_HALF: Final = (".76", ".68", ".56")
PAIRWISE: Final = ("62.8", "62.8", "52.2")
STRICT_SHARES: Final = ("65.7", "21.7", "12.6")
TABLE_2: Final = (("945", "105", "583"), ("1,012", "85", "536"), ("773", "162", "698"))
"""Items that are low, neutral and high."""
TIES: Final = ("63", "66", "122")
TABLE_9: Final = {
    ("sociability", "trust"): ".79",
    ("competence", "sociability"): ".68",
    ("competence", "trust"): ".67",
}
TARGETS: Final = {
    "Hillary Clinton": "617",
    "Donald Trump": "409",
    "Women": "313",
    "Barack Obama": "113",
    "Religious people": "105",
    "Environmentalists": "40",
    "Nonreligious people": "36",
}
TARGET_ALPHAS: Final = (
    ("trust", "Donald Trump", ".67"),
    ("competence", "Donald Trump", ".38"),
    ("trust", "Hillary Clinton", ".61"),
    ("competence", "Hillary Clinton", ".32"),
    ("trust", "Barack Obama", ".50"),
    ("sociability", "Barack Obama", ".48"),
    ("sociability", "Women", ".41"),
)
DUMMY: Final = ((".22", ".08", ".58"), (".26", ".11", ".67"), (".24", ".09", ".60"))
"""Accuracy, F1 and accuracy within one point, of Table 3."""
LOGISTIC: Final = ((".30", ".30", ".65"), (".31", ".26", ".70"), (".19", ".16", ".62"))
BERTWEET: Final = ((".35", ".31", ".83"), (".46", ".34", ".88"), (".36", ".24", ".86"))
BERTWEET_COARSE: Final = ((".79", ".59"), (".81", ".54"), (".74", ".50"))
"""Accuracy and F1 of Table 4, on gold labels that are not in the release."""
BERTWEET_SPEARMAN: Final = (".77", ".78", ".63")
STANCE: Final = (".71", ".69", ".61")
SENTIMENT: Final = (".72", ".73", ".61")
