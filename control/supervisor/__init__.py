"""`starlight up`: binds the ports, runs and restarts the processes of all houses as programs, tells what is missing."""
