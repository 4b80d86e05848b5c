"""An instrument of our own: `vantage instruments show lab-stars`."""

from pathlib import Path

STARS = Path(__file__).with_name("stars.yaml")
