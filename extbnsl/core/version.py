"""The version of the package, also of the documents that it writes."""

__version__ = "0.2.0"
