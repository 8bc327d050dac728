"""A long run: connections of every kind, opened and ended in every order, with kills and withdrawals (`make soak`)."""
