"""Proofs of results, which share no code with backends and solvers."""
