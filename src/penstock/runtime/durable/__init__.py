"""What outlives the process: home, journal, checkpoints' records, results, pending actions."""
