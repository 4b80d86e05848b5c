"""`python -m vantage` is the command `vantage`."""

from vantage.cli import main

main()
