"""Lends streams into jobs, and launches them on this machine. See README.md for the life of one job here."""
