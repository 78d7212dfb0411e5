"""Campaigns: data sets by methods by budgets, from one YAML file; each run is a process with a run directory."""
