"""Events and rules: a keyed sequence of three beside Flink, and many rules on many events."""
