"""One matrix whose rows lie in several processes: what the ranks tell each other, and who solves what."""
