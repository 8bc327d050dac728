"""What rides beside and inside jobs: standard library only, imports nothing of ours. See README.md."""
