"""What runs and how it hangs together, written down and put back."""
