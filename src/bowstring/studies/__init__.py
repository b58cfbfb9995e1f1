"""Studies of finished runs: comparison, audit, agreement, corrected scores, reports."""
