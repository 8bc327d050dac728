"""Thinking: facts, rules and words of jobs, entries and people. Pure; clock and randomness are arguments."""
