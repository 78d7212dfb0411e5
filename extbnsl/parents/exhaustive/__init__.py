"""All families that can win, counted from data: level by level, or child by child."""
