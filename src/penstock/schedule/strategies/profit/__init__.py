"""Strategies that go by profit a second."""
