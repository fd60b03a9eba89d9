"""The relations of the schema `system`, one or a few a module."""
