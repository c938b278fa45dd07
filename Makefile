# Needs only Python 3.11 or later and make: every target installs what it uses into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: demo test lint types bench clean

demo: $(INSTALLED)
	@$(BIN)/spectral-latent demo

test: $(INSTALLED)
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED)
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python benchmarks/constituency.py

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "spectral_latent needs Python 3.11 or later; '$(PYTHON)' is not. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Installing into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Everything that make and the tools have made, the virtual environment included.
clean:
	rm -rf $(VENV) build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find spectral_latent adapters tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
