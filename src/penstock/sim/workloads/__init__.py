"""What is simulated: queries, their true costs, and what comes in."""
