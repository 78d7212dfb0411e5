"""What is known of a network before it is learned: arcs that must or cannot be, an order in time, limits."""
