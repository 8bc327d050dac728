"""Programs that use other people's ssh libraries; test_ssh_clients.py runs them with the judges' interpreter."""
