"""The ssh entry: port 8022 and the random ports of ssh entries. Files in the order of a connection's life:

server.py      accepts, and lets connections end in a restart
host_keys.py   what is offered in the handshake; doorstep.py bounds who has not signed in yet
connection.py  one connection: answers what asyncssh asks; sign_in.py makes the Visitor, with the
               keys of the table or those of the person's home (home_keys.py)
routing.py     which job, and whether; guest.py is what the connection's channels share
session.py     a shell, command or sftp: menu.py where there is a choice, environment.py, join.py
forward.py     a connection to a port or a Unix socket of the job, or a jump to a job
back.py        listeners in the job whose connections go to the client (-R); lending.py: its agent and X display
ends.py        a channel as two bounded ends; protocol.py is all that reaches below asyncssh's public API
"""

from gateway.entries.ssh.server import serve

__all__ = ["serve"]
