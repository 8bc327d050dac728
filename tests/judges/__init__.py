"""Judges from outside: other people's programs, clients and test suites meet the real product (README.md)."""
