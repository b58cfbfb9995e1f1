"""Audits of data sets: what can be guessed without the history, duplicates, train–test overlap, shortcuts, balance."""
