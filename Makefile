# `make demo` and `make test` set everything up in .venv first. See CONTRIBUTING.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Fetched models and caches stay inside the checkout.
export RANKWELL_HOME ?= $(CURDIR)/$(VENV)/rankwell
export HF_HUB_OFFLINE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
MODELS_FOR_DEMO := minilm-l6 ms-marco-minilm-l12
MODELS_FOR_TESTS := minilm-l3 bge-small-en
REPLIES = $(RANKWELL_HOME)/biopython
# Python compiles a module when it is first imported. To compile all of them takes as long as to install them.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt
PYTEST := $(BIN)/python -m pytest -q

.PHONY: demo test test-all test-long test-versions test-processors fuzz docs sbom lint format bench setup setup-all clean

demo: $(VENV)/ready  ## the whole loop on the bundled collection, and a page at its end
	$(BIN)/rankwell demo

test: setup  ## what everyone runs: quick, no servers
	$(PYTEST) -n auto -m "not slow and not long"

test-all: setup-all test-processors  ## adds kills, browsers, servers, Schemathesis, whole trainings and emulated processors
	$(PYTEST) -n auto --dist loadgroup -m "slow and not long"

test-long: setup-all  ## soaks, fuzzing, third-party libraries, and the quick property tests with more examples
	$(PYTEST) -n auto -m long
	$(PYTEST) -n auto -m "hypothesis and not slow and not long" --hypothesis-profile thorough

test-versions: setup  ## the quick tests with other versions of Python, where they are here
	$(BIN)/python tests/versions.py

test-processors: setup  ## the numeric tests under emulated processors, where QEMU is here
	$(BIN)/python tests/emulated.py

SECONDS ?= 60
fuzz: setup  ## variants of good inputs for every reader and every request, for SECONDS=3600 or another while
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS)

docs: $(VENV)/ready-docs  ## the documentation as a site in site/, with every warning an error
	$(BIN)/python website/build.py

sbom: $(VENV)/ready  ## a bill of materials of the environment, CycloneDX
	mkdir -p site && $(BIN)/python website/sbom.py site/sbom.json

lint: $(VENV)/ready-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/ready-lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready-bench  ## us and our peers side by side; takes a while
	for name in analysis reading evaluate engine neural similarity assess_load screening_page training pairs; do $(BIN)/python benchmarks/$$name.py || exit 1; done

setup: $(VENV)/ready-test  ## what `make demo` and `make test` need; every other target fetches what it needs itself

setup-all: $(VENV)/ready-all $(VENV)/ready-lint

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[all]'
	# Kernels are compiled while models are fetched.
	$(BIN)/rankwell doctor --warm & warming=$$!; \
	$(BIN)/rankwell models add $(MODELS_FOR_DEMO) || echo "going on without models: no BERT, no token counts"; \
	wait $$warming
	touch $@

$(VENV)/ready-test: $(VENV)/ready
	$(INSTALL) -e '.[test,train]'
	$(BIN)/rankwell models add $(MODELS_FOR_TESTS) || echo "going on without models: some tests will be skipped"
	touch $@

$(VENV)/ready-all: $(VENV)/ready-test
	$(INSTALL) -e '.[test-all]'
	# real replies of PubMed, which Biopython keeps for its own tests
	mkdir -p $(REPLIES) && $(BIN)/python -m pip download --quiet --no-deps --no-binary=biopython biopython==1.88 -d $(REPLIES) \
	    && tar -xzf $(REPLIES)/biopython-1.88.tar.gz -C $(REPLIES) --strip-components=1 biopython-1.88/Tests/Entrez biopython-1.88/Tests/Medline \
	    && rm $(REPLIES)/biopython-1.88.tar.gz || echo "going on without Biopython's replies: some tests will be skipped"
	# files that other people wrote, from the tests of their projects
	$(BIN)/python tests/collections/zoo/fetch.py $(RANKWELL_HOME)/zoo || echo "going on without the zoo: some tests will be skipped"
	touch $@

$(VENV)/ready-lint: $(VENV)/ready-test
	$(INSTALL) -e '.[lint]'
	touch $@

$(VENV)/ready-docs: $(VENV)/ready
	$(INSTALL) -e '.[docs]'
	touch $@

$(VENV)/ready-bench: $(VENV)/ready-test
	$(INSTALL) -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) demo site .cache .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis
