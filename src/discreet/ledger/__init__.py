"""What was spent: charges, accounts, shares, and the database that holds them."""
