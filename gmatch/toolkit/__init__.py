"""Neighbours of matching and assignment, each a reduction to them; `results` has what they return, and no solver."""
