"""The command line: `penstock run`, `sql`, `explain`, `demo`, `simulate`."""
