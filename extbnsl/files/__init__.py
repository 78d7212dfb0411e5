"""What lies on disk: files that are there whole or not at all, arrays, names, the lock and the manifest of a run."""
