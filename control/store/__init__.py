"""Rows in one of two databases, alike: SQLite or PostgreSQL. One file per aggregate."""
