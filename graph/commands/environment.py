"""Import this before all else: see graph.withheld."""

from graph.withheld import withhold

withhold()
