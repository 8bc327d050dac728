"""The supervisor, with real processes and real sockets."""
