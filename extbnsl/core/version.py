"""The version of the package, also of the documents that it writes."""

__version__ = "1.0.0"
