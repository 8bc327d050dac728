"""How people, jobs and entries look from outside: shapes that more than one resource answers with."""
