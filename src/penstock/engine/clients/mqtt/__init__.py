"""MQTT 5: where a broker is, and a session with it."""
