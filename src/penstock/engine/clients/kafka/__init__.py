"""What the source and the sink of Kafka share: the place and its clients, schemas, errors."""
