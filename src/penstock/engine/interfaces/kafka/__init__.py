"""Topics of Kafka as streams: partitions side by side, their offsets in the journal."""
