"""What is said of a campaign: tables, comparisons, plots, a page; from its results alone."""
