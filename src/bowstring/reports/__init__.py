"""Reports: self-contained HTML pages, figures and tables of runs. No scores are computed here."""
