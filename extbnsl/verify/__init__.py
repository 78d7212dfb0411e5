"""The independent check of a result."""
