"""The more promising parent sets of each child, scored exactly within a budget: for up to thousands of variables."""
