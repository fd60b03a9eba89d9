"""Quality of service: what queries were promised, and what is decided to keep it; all pure."""
