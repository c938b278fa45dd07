# Needs only Python 3.11 or later and make: every target installs what it uses into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIBRARY := $(VENV)/library
INSTALLED := $(VENV)/installed
LOWEST := $(VENV)/lowest

.PHONY: demo test test-bounds test-lowest fuzz lint types bench clean

demo: $(LIBRARY)
	@$(BIN)/spectral-latent demo

# The tests of one file stay in one process, because they share models; files that read corpora come first.
test: $(INSTALLED)
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder

# Tests that go through every compiled function, with every index checked.  numba keeps compiled code without noting this
# setting, so that a cache of its own is needed.
test-bounds: $(INSTALLED)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/numba-boundscheck $(BIN)/python -m pytest -m 'not corpus' \
	  tests/test_boundary.py tests/inference/test_boundary.py tests/estimation/test_simplex.py \
	  tests/constituency/test_forests.py tests/sequence/test_forests.py \
	  tests/dependency/test_forests.py tests/reranking/test_perceptron.py

# Thousands of changed texts, damaged models and killed processes, with every index checked: minutes.
# make fuzz FUZZ="--cases 100000 --seed 2" for more.
fuzz: $(INSTALLED)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/numba-boundscheck PYTHONPATH=.:adapters \
	  $(BIN)/python -m tests.fuzz $(FUZZ)

# The demonstration and a smoke test with the lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest: $(LOWEST)/installed
	export PYTHONPATH=.:adapters NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba && \
	  $(LOWEST)/bin/python .ci/smoke.py && $(LOWEST)/bin/python -m spectral_latent demo --quiet

$(LOWEST)/installed: pyproject.toml .ci/lowest.py $(INSTALLED)
	$(BIN)/python -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python .ci/lowest.py)
	@touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED)
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python benchmarks/constituency.py

# The library alone; then the tools of development on top of it.
$(LIBRARY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "spectral_latent needs Python 3.11 or later; '$(PYTHON)' is not. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Installing into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(INSTALLED): $(LIBRARY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Everything that make and the tools have made, the virtual environment included.
clean:
	rm -rf $(VENV) build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find spectral_latent adapters tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
