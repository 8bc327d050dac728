"""How the tables came to be what they are. A released migration is never edited."""
