"""What the commands and Python users call to start something: evaluate, sweep, synthesize, train."""
