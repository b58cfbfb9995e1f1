"""Files: JSON and YAML of other people, atomic writing, locks, redaction, and text made safe to show."""
