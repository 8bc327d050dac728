"""How fast the door is: `make bench`. Figures belong in the message of the commit that moved them."""
