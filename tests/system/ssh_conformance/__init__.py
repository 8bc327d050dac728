"""What plain sshd does right, as a script that judges any ssh server: `python -m tests.system.ssh_conformance --help`.

Every case is a behaviour that public bug reports say some gateway got wrong. The server under test
needs a POSIX shell, coreutils, git and python3 on its side; this side needs OpenSSH's clients, rsync,
git and asyncssh. Nothing here knows of our gateway: that plain sshd passes proves the script.

target.py     who is judged, and how clients are run at it
cases.py      how a case is written down, and the run of all
commands.py   exec, its end, its status
files.py      scp, sftp, rsync, git
terminals.py  pseudo-terminals
forwards.py   -L, -R, -D, -W, Unix sockets, the agent, shared connections, what VS Code does
transport.py  requests, key exchange, many channels, clients that vanish
"""
