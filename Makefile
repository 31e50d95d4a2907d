# The two commands of the README are `make demo` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-fast mutants wheel-test setup bench book golden-workspace lint lock clean

## demo: build the demo workspace on first use and serve the table builder on 127.0.0.1:8000
demo: $(VENV)/.installed
	@$(BIN)/discreet demo

## test: install what the tests need and run the whole suite
test: setup
	@PYTHON=$(BIN)/python sh scripts/test

## test-fast: about two minutes on two quiet cores: everything but browser and slow tests
test-fast: setup
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -m "not slow and not browser" -n auto

## mutants: some minutes: small wrong changes of keys, noise, charges and audit, which the tests must notice
mutants: setup
	@$(BIN)/python scripts/mutants

## wheel-test: build the wheel, install it in a clean environment and run the smoke tests against it
wheel-test: setup
	@$(BIN)/python scripts/test-wheel

## setup: build .venv with what tests, benchmarks and lint need, and stop
setup: $(VENV)/.installed-extras

## bench: what the README claims about speed, part by part
bench: setup
	@for part in tables dp margins startup; do $(BIN)/discreet bench $$part || exit; done

## book: make the tables and pictures of docs/book again (two minutes)
book: setup
	@$(BIN)/python scripts/build-book

## golden-workspace: make tests/golden/workspace-0.2.tar.xz anew and write its answers down: published numbers change
golden-workspace: setup
	@$(BIN)/python scripts/golden-workspace

## lint: style, types, format, and the workflows if npm is here
lint: setup
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && sh scripts/lint-workflows

## lock: write requirements/ and the npm lock again; newest versions with UPGRADE=--upgrade
lock: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lock]'
	@UV=$(BIN)/uv UPGRADE=$(UPGRADE) sh scripts/lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Discreet needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "Installing Discreet into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-extras: $(VENV)/bin/python pyproject.toml studies/pyproject.toml
	@echo "Installing Discreet and its studies with what tests, benchmarks and lint need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,bench,lint]' --editable ./studies
	@touch $@ $(VENV)/.installed
