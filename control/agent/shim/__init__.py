"""The keeper of one job on this machine: it starts it, lives as long as it does, and writes down how it ended.

Detached from everything that started it (own session, no parent), so that control, the bridge and the
supervisor may die without the job noticing. It never runs as the job's uid.
"""
