"""Published methods as they are published, to compare with."""
