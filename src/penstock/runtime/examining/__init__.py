"""Looking at a home that nobody runs: what is whole, what is not, and what can be done."""
