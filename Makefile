# Every target sets up what it needs; `make help` lists them.
PYTHON ?= python3
PYTEST_ARGS ?=
WORKERS ?= 2
FUZZ_MINUTES ?= 10
FUZZ_SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
INSTALLED := $(VENV)/.installed
PREPARED := $(VENV)/.prepared
DOCS_VENV := .venv-docs
DOCS_LOCKED := $(DOCS_VENV)/.locked
# On the path: penstock, whose --help is shown.
MKDOCS := PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs
RESULTS := benchmarks/results
WITH_JAVA := JAVA_HOME="$$(scripts/find-java)"
# A file's tests share what it has set up. In the order of tests/conftest.py, longest first: xdist's
# own begins with the files of many tests, and ends with one worker waiting for the other.
BY_FILE := --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup java demo check test test-fast test-nightly fuzz bench bench-all docs docs-serve \
	format lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: java $(INSTALLED) $(PREPARED) ## make .venv from requirements.lock, find Java, prepare Spark

demo: setup ## run the demonstration
	@$(WITH_JAVA) $(BIN)/penstock demo

check: $(INSTALLED) ## lint, types and the arrows between rooms
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: setup check ## everything CI runs: check and all tests (PYTEST_ARGS=--cov for coverage)
	$(WITH_JAVA) $(BIN)/pytest -n $(WORKERS) $(BY_FILE) $(PYTEST_ARGS)

test-fast: setup ## unit and golden tests only
	$(WITH_JAVA) $(BIN)/pytest -n $(WORKERS) $(wildcard tests/unit tests/golden) $(PYTEST_ARGS)

test-nightly: setup check ## all tests with all of their examples, and hypothesis looking for new ones
	PENSTOCK_EXAMPLES=1 $(WITH_JAVA) $(BIN)/pytest -n $(WORKERS) $(BY_FILE) \
		--hypothesis-profile=explore $(PYTEST_ARGS)

fuzz: setup ## random queries against Spark batches (FUZZ_MINUTES, FUZZ_SEED); 1 where one differs
	$(WITH_JAVA) $(BIN)/python -m tests.fuzz --minutes $(FUZZ_MINUTES) --seed $(FUZZ_SEED)

bench: setup ## the quick set of benchmarks: many queries, then one at a time
	$(WITH_JAVA) $(BIN)/python -m benchmarks.many
	$(WITH_JAVA) $(BIN)/python -m benchmarks

bench-all: setup ## every benchmark, also beside Flink: hours
	$(WITH_JAVA) $(BIN)/python -m benchmarks.many --all --kind all --queries 1,10,100,1000 \
		--peers streaming,flink
	$(WITH_JAVA) $(BIN)/python -m benchmarks.many --all --measure create --kind mixed,thresholds \
		--queries 1000 --json $(RESULTS)/create.json
	$(WITH_JAVA) $(BIN)/python -m benchmarks.many --all --measure add --kind mixed \
		--queries 1,100 --json $(RESULTS)/add.json
	$(WITH_JAVA) $(BIN)/python -m benchmarks --all

docs: $(INSTALLED) $(DOCS_LOCKED) ## build the documentation into site/; a broken link or anchor is an error
	$(MKDOCS) build --strict
	@echo "site/index.html"

docs-serve: $(INSTALLED) $(DOCS_LOCKED) ## serve the documentation on this machine, and follow changes
	$(MKDOCS) serve

format: $(INSTALLED) ## rewrite the code in house format, with the fixes ruff is sure of
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: ## write both locks anew after a change of dependencies (LOCK_ARGS=--upgrade for newer)
	PYTHON="$(PYTHON)" scripts/lock $(LOCK_ARGS)

clean: ## remove .venv and everything that tools and runs leave behind
	rm -rf $(VENV) $(DOCS_VENV) site build dist fuzz-findings htmlcov .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache artifacts derby.log metastore_db spark-warehouse
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

java:
	@scripts/setup-java

$(BIN)/python:
	@scripts/setup-venv "$(PYTHON)" $(VENV)

$(LOCKED): requirements.lock | $(BIN)/python
	@echo "Installing what requirements.lock pins (the first time, Spark is a large download)"
	@scripts/install-lock $(BIN)/pip requirements.lock
	@touch $@

$(DOCS_VENV)/bin/python:
	@scripts/setup-venv "$(PYTHON)" $(DOCS_VENV)

$(DOCS_LOCKED): requirements-docs.lock | $(DOCS_VENV)/bin/python
	@echo "Installing what requirements-docs.lock pins"
	@scripts/install-lock $(DOCS_VENV)/bin/pip requirements-docs.lock
	@touch $@

$(INSTALLED): pyproject.toml $(LOCKED)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Spark starts without its archive of classes as well, only slower: no reason to stop.
$(PREPARED): $(LOCKED) | java $(INSTALLED)
	@$(WITH_JAVA) $(BIN)/penstock prepare || echo "Spark will start slower"
	@touch $@
