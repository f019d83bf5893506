PYTHON ?= .venv/bin/python

.PHONY: help check test lint docs samples bench

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

check:  ## all that CI runs: lint, types, docs and behaviour
	$(PYTHON) -m pytest -n 2

test:  ## the fast tests
	$(PYTHON) -m pytest -q -m 'not slow'

lint:  ## format, lint and types
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m mypy

docs:  ## rewrite the generated pages
	$(PYTHON) docs/generate.py

samples:  ## rewrite the generated sample traces
	$(PYTHON) sample_traces/make.py

bench:  ## measure on a big trace
	$(PYTHON) -m benchmarks
