"""Certificates: the machine's own authority, what a certificate is good for, which one answers a name. A leaf house."""
