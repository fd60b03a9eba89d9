"""The house and the street that `penstock demo` plays and the page offers: SQL, pure."""
