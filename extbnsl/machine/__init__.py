"""What the machine grants: budgets, workers and interrupts."""
