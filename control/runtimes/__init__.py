"""Where jobs run. Runtimes do not know each other."""
