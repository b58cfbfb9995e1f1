"""Studies: everything over finished runs. Compare them, audit one, measure agreement, correct scores, report."""
