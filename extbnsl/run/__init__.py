"""A run directory while it lives: what it holds, its status, progress and plot."""
