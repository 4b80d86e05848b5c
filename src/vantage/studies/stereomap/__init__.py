"""The stereomap study: where a model places social groups between warmth and competence, and how sure that is.

`groups` holds the published groups with the human reference values and reads lists of one's own (`reference_groups()`
gives the 24 with a human reference); `elicitation` asks a model and lets people judge its answers; `analysis` finds
clusters and holds what is analysed; `places`, `relations` and `answers` are the functions that `recipe.yaml` shows.
What another study could use as well lives in `vantage.measures` (clusters, phrases …).
"""

from vantage.studies.stereomap.groups import SocialGroup as SocialGroup
from vantage.studies.stereomap.groups import groups_corpus as groups_corpus
from vantage.studies.stereomap.groups import published_groups as published_groups
from vantage.studies.stereomap.groups import read_groups as read_groups
from vantage.studies.stereomap.groups import reference_groups as reference_groups
