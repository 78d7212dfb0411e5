"""Lower bounds h of what is missing, and incumbents."""
