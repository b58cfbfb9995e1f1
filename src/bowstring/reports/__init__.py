"""Reports: the numbers of a run as one HTML file that needs nothing else. Nothing here computes a score."""
