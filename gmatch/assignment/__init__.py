"""Linear assignment: `gmatch.lap`, and what it is made of."""
