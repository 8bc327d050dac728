"""Lends streams into jobs, and launches them on this machine. control/agent/README.md walks one job's life here."""
