# make demo          what Bowstring does, on this machine, without a key
# make test          everything that must hold: style, types, tests
# make test-faults   runs under faults of every kind, the long way: some minutes, and a tally
#
# All need Python 3.11 or newer with pip, and make their own environment in .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-faults clean

demo: .venv/.for-demo
	@$(BIN)/bowstring demo

test: .venv/.for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

test-faults: .venv/.for-test
	BOWSTRING_FAULTS=long $(BIN)/pytest -n auto tests/faults

# A Python without the venv module's own pip (Debian splits it off) gets its environment from virtualenv, which
# needs no place in the system's packages.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Bowstring needs Python 3.11 or newer: make PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv 2>/dev/null || { rm -rf .venv && \
	  $(PYTHON) -m pip install --quiet --target .virtualenv virtualenv && \
	  PYTHONPATH=.virtualenv $(PYTHON) -m virtualenv --quiet .venv && rm -rf .virtualenv; }
	@$(PIP) install --upgrade pip --constraint constraints.txt

.venv/.for-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into .venv …"
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

.venv/.for-test: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into .venv, with what the tests need …"
	@$(PIP) install --constraint constraints.txt --editable . --group dev
	@touch $@ .venv/.for-demo

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
