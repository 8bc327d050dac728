"""The job's first process: it starts the command and every session, and reaps what they leave.

It runs inside the sandbox as the job's own uid, so that whatever it opens (a terminal, a connection,
a program) is opened with the job's rights and in the job's namespaces, and nothing has to enter them.
"""
