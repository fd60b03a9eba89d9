"""Results into a topic of Kafka, each delivery in one transaction with its number."""
