"""What is said of a run: its tables, its charts and a page."""
