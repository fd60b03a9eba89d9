"""What acts and remembers: the home directory, the journal, results and the supervisor's loop."""
