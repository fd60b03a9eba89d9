"""What is known of operators and units: figures, shapes, and the work that follows from a tuple."""
