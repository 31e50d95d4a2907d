# The two commands of the README are `make demo` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-fast nightly mutants wheel-test setup bench book reference docs drills sbom vulnerabilities golden-workspace lint lock clean

## demo: build the demo workspace on first use and serve the table builder on 127.0.0.1:8000
demo: $(VENV)/.installed
	@$(BIN)/discreet demo

## test: install what the tests need and run the whole suite
test: setup
	@PYTHON=$(BIN)/python sh scripts/test

## test-fast: about two minutes on two quiet cores: everything but browser and slow tests
test-fast: setup
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -m "not slow and not browser" -n auto

## mutants: some minutes: small wrong changes of keys, noise, charges and audit; dist/mutants.json says which tests notice which
mutants: setup
	@$(BIN)/python scripts/mutants

## drills: kills, full disks, torn files, jumping clocks, two hosts, many times
drills: setup
	@$(BIN)/python scripts/drills

## nightly: some hours: all mutants, all drills, every attack, the sizes of all tests; `make test` runs a sample of each
nightly: mutants drills
	@for attack in bob averaging versions weights "withheld --rules"; do $(BIN)/discreet attack $$attack || exit; done
	@$(BIN)/discreet bench tests-size

## wheel-test: build the wheel, install it in a clean environment and run the smoke tests against it
wheel-test: setup
	@$(BIN)/python scripts/test-wheel

## setup: build .venv with what tests, benchmarks and lint need, and stop
setup: $(VENV)/.installed-extras

## bench: what the docs claim about speed, part by part
bench: setup
	@for part in tables scale dp margins startup; do $(BIN)/discreet bench $$part || exit; done

## book: make the tables and pictures of docs/book again (two minutes)
book: setup
	@$(BIN)/python scripts/build-book

## reference: make the tables of docs/reference and the figures of the documentation again
reference: setup
	@$(BIN)/python scripts/build-reference

## docs: the documentation site in build/site, from docs/ and the program; a broken link ends it
docs: setup
	@$(BIN)/python scripts/docs

## sbom: what a server is made of, with hashes and licences, as CycloneDX: build/discreet.cdx.json
sbom: $(VENV)/.installed-supply
	@$(BIN)/python scripts/sbom build/discreet.cdx.json
	@echo "Written: build/discreet.cdx.json"

## vulnerabilities: compare what a server is made of with the known vulnerabilities; needs the network
vulnerabilities: $(VENV)/.installed-supply
	@$(BIN)/pip-audit --requirement requirements/serve.txt --require-hashes --disable-pip --strict

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
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[excel,fast,pandas,pictures,statistics]'
	@touch $@

$(VENV)/.installed-extras: $(VENV)/bin/python pyproject.toml studies/pyproject.toml
	@echo "Installing Discreet and its studies with what tests, benchmarks and lint need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,bench,lint]' --editable ./studies
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-supply: $(VENV)/bin/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[supply]'
	@touch $@ $(VENV)/.installed
