"""States of events: their masks, and one detection graph for all of them."""
