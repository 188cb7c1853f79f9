"""What is to be solved: checked once, then frozen."""
