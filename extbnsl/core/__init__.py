"""The ground: errors, checks of what callers give, events, claims, knowledge, figures, how far compiling is."""
