"""The ledger of privacy budgets: charges, caps, shares, accounts, and their database."""
