"""PxWebApi 2: every dataset is a table, for the programs that speak it."""
