# Two commands do everything: `make start` and `make test`. Each installs what is missing, and nothing twice.
# ARGS go to the command underneath: make start ARGS=--detach, make stop ARGS=--jobs, make clean ARGS=--data.
# PYTHON=/path/to/python3 chooses the interpreter (3.11 or later) that the virtual environment is made from.

BIN := .venv/bin
export PYTHON

.PHONY: start stop clean test test-all lint bench fuzz soak set-up-start set-up-test set-up-judges set-up-fuzz

start: set-up-start
	@exec $(BIN)/starlight up $(ARGS)

stop:
	@if [ -x $(BIN)/starlight ]; then exec $(BIN)/starlight down $(ARGS); else echo "nothing is set up here"; fi

clean:
	@exec scripts/clean.sh $(ARGS)

lint: set-up-test
	@exec scripts/lint.sh

test: lint
	@exec scripts/test.sh -m "not slow" $(ARGS)

test-all: lint set-up-judges
	@exec scripts/test.sh $(ARGS)

bench: set-up-test
	@exec $(BIN)/python -m tests.bench $(ARGS)

fuzz: set-up-fuzz
	@exec .build/fuzz/bin/python -m tests.fuzz $(ARGS)

soak: set-up-test
	@exec $(BIN)/python -m tests.soak $(ARGS)

set-up-start:
	@exec scripts/set-up.sh start

set-up-test:
	@exec scripts/set-up.sh test

set-up-judges:
	@exec scripts/set-up.sh judges

set-up-fuzz:
	@exec scripts/set-up.sh fuzz
