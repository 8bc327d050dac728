"""Loops that keep promises: bring what is observed to what is wanted."""
