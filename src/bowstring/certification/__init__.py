"""Comparison with the code of a benchmark's authors: a scripted server that both programs ask, the process of theirs,
transcripts of what was asked and counted, and the table of what is equal."""
