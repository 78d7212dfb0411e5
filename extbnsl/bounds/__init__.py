"""Lower bounds h of what the missing variables cost."""
