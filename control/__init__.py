"""The desk: keeps promises and owns the database. See README.md for the life of one job."""
