# make demo          what Bowstring does, on this machine, without a key
# make test          everything that must hold: style, types, tests
# make test-slow     the tests that are left out of make test because they are long
# make test-faults   runs under faults of every kind, the long way: some minutes, and a tally
#
# All need Python 3.11 or newer with pip, and make their own environment in .venv.

PYTHON ?= python3
BIN := .venv/bin
# Tests wait for servers and browsers almost a third of the time, so there are half as many processes again as cores.
WORKERS ?= $(shell $(BIN)/python -c 'import os; print(max(2, (os.cpu_count() or 1) * 3 // 2))')
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-slow test-faults browser lock audit clean

demo: .venv/.for-demo
	@$(BIN)/bowstring demo

test: .venv/.for-test browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "not slow"

test-slow: .venv/.for-test
	$(BIN)/pytest -n auto -m slow

test-faults: .venv/.for-test
	BOWSTRING_FAULTS=long $(BIN)/pytest -n auto tests/faults

# Pages are tested in Chromium. Where it can be installed it is; where it cannot, those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
	  echo "Installing Chromium, for the tests of pages …" && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "There is no Chromium here: the tests of pages will be skipped (apt install chromium)."

# A Python without the venv module's own pip (Debian splits it off) gets its environment from virtualenv, which
# needs no place in the system's packages.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Bowstring needs Python 3.11 or newer: make PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv 2>/dev/null || { rm -rf .venv && \
	  $(PYTHON) -m pip install --quiet --target .virtualenv virtualenv && \
	  PYTHONPATH=.virtualenv $(PYTHON) -m virtualenv --quiet .venv && rm -rf .virtualenv; }
	@$(PIP) install --upgrade pip --constraint constraints.txt

# All packages are named and hashed: there is nothing to resolve, and nothing else is accepted.
LOCKED := $(PIP) install --no-deps --require-hashes --requirement
ITSELF := $(PIP) install --no-deps --no-build-isolation --editable .

.venv/.for-demo: pyproject.toml requirements/demo.txt | $(BIN)/python
	@echo "Installing into .venv …"
	@$(LOCKED) requirements/demo.txt
	@$(ITSELF)
	@touch $@

.venv/.for-test: pyproject.toml constraints.txt requirements/test.txt | $(BIN)/python
	@echo "Installing into .venv, with what the tests need …"
	@$(LOCKED) requirements/test.txt
	@$(PIP) install --constraint constraints.txt torch
	@$(ITSELF)
	@touch $@ .venv/.for-demo

# Needs uv (pip install uv).
COMPILE := uv pip compile pyproject.toml requirements/build.in --constraints constraints.txt --universal \
  --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet --upgrade --index-url https://pypi.org/simple
TORCHES := torch triton cuda-bindings cuda-pathfinder cuda-toolkit $(addprefix nvidia-,cublas cuda-cupti cuda-nvrtc \
  cuda-runtime cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)

lock:
	$(COMPILE) --output-file requirements/demo.txt
	$(COMPILE) --group dev $(addprefix --no-emit-package ,$(TORCHES)) --output-file requirements/test.txt

# Needs pip-audit, and the network.
audit:
	pip-audit --requirement requirements/test.txt --no-deps --disable-pip

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
