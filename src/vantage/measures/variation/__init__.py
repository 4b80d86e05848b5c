"""Variation: how widely answers to an item are spread, how far groups are apart, and who refused."""
