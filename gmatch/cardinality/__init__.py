"""Maximum cardinality: `gmatch.max_matching`, and the forms of matrices that follow from it."""
