"""Local scores: what a family costs, computed from data or read from files."""
