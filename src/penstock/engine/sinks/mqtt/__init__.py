"""Results as messages of an MQTT broker."""
