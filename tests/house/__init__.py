"""House rules: what every file of the project keeps to, checked."""
