"""The k best networks: which families they need, and every network within a limit, each once."""
