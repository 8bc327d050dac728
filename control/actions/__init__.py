"""Everything a person or program may ask, one file per noun: check the right, write, audit, hint."""
