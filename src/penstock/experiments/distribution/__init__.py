"""The experiments of D-CAPE: one plan over several processors (ledger E-1 to E-15)."""
