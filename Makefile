# Needs only Python 3.11 or later and make: every target installs what it uses into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIBRARY := $(VENV)/library
INSTALLED := $(VENV)/installed
COMPILED := $(VENV)/compiled
COLLECTED := $(VENV)/collected
LOWEST := $(VENV)/lowest
DOCUMENTED := $(VENV)/documented
LOCK := requirements-dev.lock
SECONDS ?= 120
SEED := $(or $(SEED),$(shell date +%s))

# Byte code is written where it is first used: most modules of the packages never are.
INSTALL := python -m pip install --quiet --disable-pip-version-check --no-compile

# Modules are compiled to byte code once, and not again by each of the hundreds of processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

# Tests run in several processes, and the site is built beside others: a second thread of linear algebra waits for a
# processor, and costs a seventh of the time of the tests.
coverage docs pages test test-lowest test-newest test-if-changed: export OPENBLAS_NUM_THREADS := 1

# Tests that go through every compiled function on small data.
COMPILED_TESTS := tests/test_boundary.py tests/inference/test_boundary.py tests/estimation/test_simplex.py \
  tests/constituency/test_forests.py tests/sequence/test_forests.py tests/dependency/test_forests.py

# What else may fail with other versions of the dependencies: how models are stored.
VERSION_TESTS := tests/files $(COMPILED_TESTS)

# Tests of several kinds, some of which read corpora, and the way to run them with no setting of the user.
BARE_TESTS := tests/files/test_storage.py tests/corpora/test_tagged.py tests/sequence/test_accuracy.py \
  tests/cli/test_train.py tests/adapters/test_nltk_taggers.py
BARE = env -i HOME="$$home" PATH="$$PATH" NUMBA_CACHE_DIR="$$home/numba" $(BIN)/python -m pytest -q -p no:cacheprovider

OUTSIDE := $(VENV)/outside
SITE := PYTHONPATH=docs/_site $(BIN)/sphinx-build --quiet --fail-on-warning -c docs/_site

.PHONY: all demo browser compile collect explore test test-bare test-lowest test-newest test-if-changed test-wheel coverage mutants fuzz soak \
  processors lint types docs pages lock dist dist-bare licences models bench regression clean

demo: $(LIBRARY)
	@$(BIN)/spectral-latent demo

# On a new machine, functions are compiled while tools are installed.  The tests of one file stay in one process, because
# they share models; files that read corpora come first.
test:
	@$(MAKE) --no-print-directory --jobs=2 compile collect
	$(BIN)/python -m pytest -m 'not slow' --numprocesses=auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder

# What CI runs on every change, and what is slow and rarely finds a fault: weekly, and before a release.
all: lint types test explore test-bare test-lowest test-newest test-wheel coverage mutants fuzz soak processors docs regression
	$(BIN)/python -m pytest -m slow

# As on a new machine, without corpora and without compiled code: all tests that read corpora, which skip, and the files of
# BARE_TESTS.
test-bare: $(INSTALLED)
	home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && $(BARE) -m corpus && $(BARE) $(BARE_TESTS)

# Properties on new examples for two minutes, in an order and with examples of a seed that is printed; what fails becomes an
# example.  make explore SEED=7 repeats a run, make explore SECONDS=3600 looks longer.
explore: $(INSTALLED) $(COMPILED)
	@echo "make explore SEED=$(SEED)"
	SPECTRAL_LATENT_EXPLORE=$(SECONDS) $(BIN)/python -m pytest -q -x -p no:cacheprovider -m 'not slow and not corpus' \
	  --hypothesis-seed=$(SEED)

# All functions are compiled once, before several processes need them, and while tools are installed.
compile: $(COMPILED)

$(COMPILED): $(LIBRARY) $(shell find spectral_latent -name '*.py')
	PYTHONPATH=.:adapters $(BIN)/python tests/smoke.py
	@touch $@

# The byte code of the tests, and of all that they import, is made once, before several processes would make it at once.
# What cannot be collected is an error of the tests themselves.
collect: $(COLLECTED)

$(COLLECTED): $(INSTALLED)
	-@$(BIN)/python -m pytest --collect-only --quiet > /dev/null
	@touch $@

# The tests of the page on which trees are corrected need a browser; without one they are skipped.
browser:
	-@command -v chromedriver > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	  { apt-get install -y --no-install-recommends chromium-driver || { apt-get update && \
	  apt-get install -y --no-install-recommends chromium-driver; }; } > /dev/null 2>&1; }

# Lines and branches that the tests reach: all tests without corpora, which take 20 CPU minutes, then those of compiled
# functions once more without compilation, because coverage does not see compiled code.
coverage: $(INSTALLED)
	$(BIN)/coverage erase
	$(BIN)/python -m pytest --cov --cov-report= -m 'not corpus' --numprocesses=auto --maxprocesses=4 --dist=loadfile \
	  --no-loadscope-reorder
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov --cov-append --cov-report=term -m 'not corpus' $(COMPILED_TESTS)

# Deliberate faults in every room, and the share that the tests catch: minutes, but for the first time, when it is found
# out which tests call what.  make mutants MUTANTS="--room estimation --faults 50 --seed 2" for others.
mutants: $(INSTALLED) $(COMPILED)
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=.:adapters $(BIN)/python -m tests.mutants $(MUTANTS)

# Thousands of changed texts and damaged models, with every index checked: minutes.
# make fuzz FUZZ="--texts 100000 --seed 2" for more.
fuzz: $(INSTALLED)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/numba-boundscheck PYTHONPATH=.:adapters \
	  $(BIN)/python -m tests.fuzz $(FUZZ)

# The memory of a process that parses 100,000 sentences and tags 1,000,000 words: minutes.
soak: $(INSTALLED)
	$(BIN)/python -m tests.soak

# Models as NumPy, its BLAS and numba would make them on other processors, compared with those of this one: minutes.
processors: $(INSTALLED)
	PYTHONPATH=.:adapters $(BIN)/python -m tests.processors

# With the lowest versions that pyproject.toml allows, in an environment of their own, and with every index checked: the
# demonstration, a smoke test, and tests that go through all compiled code.  numba keeps compiled code without noting that
# indices are checked, so that a cache of its own is needed.
test-lowest: $(LOWEST)/installed
	export PYTHONPATH=.:adapters NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba && \
	  $(LOWEST)/bin/python tests/smoke.py && $(LOWEST)/bin/python -m spectral_latent demo --quiet && \
	  $(LOWEST)/bin/python -m pytest -m 'not corpus' $(VERSION_TESTS)
	$(PYTHON) .ci/digest.py lowest --note

# As a user installs it, with the newest versions that pip finds, on every Python from 3.11 on that this machine has: the
# same without checked indices.  make test-newest NEWEST='--python /path/to/python3.13' for one of them.
test-newest:
	$(PYTHON) .ci/newest.py $(NEWEST) $(VERSION_TESTS)

# Both, where requirements, versions, compiled functions or the way of storing changed since they last passed.
test-if-changed:
	@$(PYTHON) .ci/digest.py lowest || $(MAKE) test-lowest
	@$(PYTHON) .ci/newest.py --if-changed $(NEWEST) $(VERSION_TESTS)

$(LOWEST)/installed: pyproject.toml .ci/lowest.py $(LOCK)
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/$(INSTALL) $$($(PYTHON) .ci/lowest.py)
	$(LOWEST)/bin/$(INSTALL) --constraint $(LOCK) hypothesis psutil pytest typing-extensions
	@touch $@

# The wheel and the source distribution, made twice to the same bytes.
dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --outdir dist/again
	for file in dist/*.whl dist/*.tar.gz; do cmp "$$file" "dist/again/$$(basename "$$file")" || exit 1; done
	rm -r dist/again

# The wheel without the ready models that are not MIT, for those who may not pass on anything else.
dist-bare: $(INSTALLED)
	rm -rf build/bare && mkdir -p build/bare && git archive HEAD | tar -x -C build/bare
	find build/bare/spectral_latent/ready -name '*.model' ! -name toy.model -delete
	rm build/bare/spectral_latent/ready/LICENSE
	sed -i 's/ AND CC-BY-SA-4.0"/"/; s/, "spectral_latent.ready.LICENSE"//' build/bare/pyproject.toml
	$(BIN)/python -m build --wheel --outdir dist/bare build/bare

# Tests of the wheel outside the checkout, in an environment of its own with the newest versions that PyPI has.
test-wheel: dist
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/bin/$(INSTALL) "$$(ls dist/*.whl)[annotate,pictures,sklearn,spacy]"
	rm -rf $(OUTSIDE) && mkdir $(OUTSIDE) && cp -r benchmarks tests docs README.md pyproject.toml $(OUTSIDE)
	cd $(OUTSIDE) && ../wheel/bin/python tests/smoke.py && ../wheel/bin/spectral-latent demo --quiet
	$(VENV)/wheel/bin/$(INSTALL) hypothesis psutil pytest skops
	cd $(OUTSIDE) && ../wheel/bin/python -m pytest -o pythonpath=. -o testpaths=tests -m 'not corpus' \
	  tests/conformance tests/operators tests/inference tests/adapters tests/cli

# The licences of what is installed with the library.
licences: $(INSTALLED)
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/bin/$(INSTALL) .
	$(BIN)/pip-licenses --python=$(VENV)/wheel/bin/python --order=name --format=markdown

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED)
	$(BIN)/mypy

# The documentation site, docs/_build/site/index.html; a warning is an error.
docs: $(DOCUMENTED) $(COMPILED)
	$(SITE) docs docs/_build/site

# The same pages without what the tutorials print and draw, because the tests run the tutorials.
pages: $(DOCUMENTED)
	$(SITE) -D plot_gallery=0 docs docs/_build/pages
	PYTHONPATH=.:adapters $(BIN)/python -m pytest -q tests/test_site.py

# The models that come with the library, from the treebanks of SPECTRAL_LATENT_DATA: half an hour.
models: $(INSTALLED)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.models $(MODELS)

# Results and the tables made from them; make bench BENCHMARKS=all for hours of them.
BENCHMARKS ?= phrases
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(BENCHMARKS) tables

# Training and parsing beside the last tag, or beside BASE.
regression: $(INSTALLED)
	$(BIN)/python -m benchmarks.regression $(if $(BASE),--base $(BASE))

# The versions that development and CI install, made anew: the newest ones that pyproject.toml allows.
lock:
	$(PYTHON) -m venv --clear $(VENV)/lock
	$(VENV)/lock/bin/$(INSTALL) '.[dev,docs]'
	$(VENV)/lock/bin/python -m pip freeze --disable-pip-version-check --exclude spectral-latent > $(LOCK)

# The library alone; then the tools of development on top of it; then those of the site, only where it is built.
$(LIBRARY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "spectral_latent needs Python 3.11 or later; '$(PYTHON)' is not. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Installing into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/$(INSTALL) --constraint $(LOCK) --editable .
	@touch $@

# The newest pip finds a hundred packages in half the time that one of 2023 takes.
$(INSTALLED): $(LIBRARY)
	@$(BIN)/$(INSTALL) --upgrade pip
	@$(BIN)/$(INSTALL) --constraint $(LOCK) --editable '.[dev]'
	@touch $@

$(DOCUMENTED): $(INSTALLED)
	@$(BIN)/$(INSTALL) --constraint $(LOCK) --editable '.[docs]'
	@touch $@

# Everything that make and the tools have made, the virtual environment included.
clean:
	rm -rf $(VENV) .coverage build dist docs/_build docs/api docs/commands.md docs/tutorials .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find spectral_latent adapters tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
