"""What has a name: how it is bound, made, changed, taken away, and brought back."""
