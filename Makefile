# `make demo` and `make test` set everything up in .venv first. See CONTRIBUTING.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Fetched models and caches stay inside the checkout.
export RANKWELL_HOME ?= $(CURDIR)/$(VENV)/rankwell
export HF_HUB_OFFLINE := 1
MODELS := minilm-l6 minilm-l3 ms-marco-minilm-l12 bge-small-en
REPLIES = $(RANKWELL_HOME)/biopython
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-all docs lint format bench setup clean

demo: setup  ## the whole loop on the bundled collection, and a page at its end
	$(BIN)/rankwell demo

test: setup  ## what everyone runs: quick, no servers
	$(BIN)/python -m pytest -q -n auto -m "not slow"

test-all: setup  ## adds kills, browsers, servers and long property tests
	$(BIN)/python -m pytest -q -n auto --dist loadgroup -m slow

docs: setup  ## the documentation as a site in site/, with every warning an error
	$(BIN)/python website/build.py

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup $(VENV)/bench  ## us and our peers side by side; takes a while
	for name in analysis reading evaluate engine neural similarity assess_load screening_page training pairs; do $(BIN)/python benchmarks/$$name.py || exit 1; done

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	$(BIN)/rankwell models add $(MODELS) || echo "going on without models: no BERT, no token counts"
	# real replies of PubMed, which Biopython keeps for its own tests
	mkdir -p $(REPLIES) && $(BIN)/python -m pip download --quiet --no-deps --no-binary=biopython biopython==1.88 -d $(REPLIES) \
	    && tar -xzf $(REPLIES)/biopython-1.88.tar.gz -C $(REPLIES) --strip-components=1 biopython-1.88/Tests/Entrez biopython-1.88/Tests/Medline \
	    && rm $(REPLIES)/biopython-1.88.tar.gz || echo "going on without Biopython's replies: some tests will be skipped"
	touch $@

$(VENV)/bench: pyproject.toml constraints.txt $(VENV)/ready
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) demo site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
