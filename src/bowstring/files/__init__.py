"""File handling: strict JSON and YAML parsing, atomic writing, locks, redaction, and escaping of untrusted text."""
