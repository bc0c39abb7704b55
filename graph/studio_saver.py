"""The Agent Server loads a saver from a file only, as a copy of that file: so this one holds nothing but a name."""

from graph.studio import make_saver

__all__ = ["make_saver"]
