"""The functions that a flow can name, built in or declared."""
