# The two commands of the README are `make demo` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-fast setup bench book lint clean

## demo: build the demo workspace on first use and serve the table builder on 127.0.0.1:8000
demo: $(VENV)/.installed
	@$(BIN)/discreet demo

## test: install what the tests need and run the whole suite
test: setup
	@PYTHON=$(BIN)/python sh scripts/test

## test-fast: about two minutes on two quiet cores: everything but browser and slow tests
test-fast: setup
	@$(BIN)/python -m pytest -q -m "not slow and not browser" -n auto

## setup: build .venv with the test and benchmark extras, and stop
setup: $(VENV)/.installed-extras

## bench: what the README claims about speed
bench: setup
	@$(BIN)/discreet bench

## book: make the tables and pictures of docs/book again (two minutes)
book: setup
	@$(BIN)/python scripts/build-book

## lint: style, types, format
lint: setup
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Discreet needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "Installing Discreet into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-extras: $(VENV)/bin/python pyproject.toml
	@echo "Installing Discreet with what tests and benchmarks need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	@touch $@ $(VENV)/.installed
