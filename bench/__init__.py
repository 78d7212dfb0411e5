"""How fast each kernel is, beside a reference loop. See README.md."""
