"""What is measured, promised and given up: contracts, gates, suspension."""
