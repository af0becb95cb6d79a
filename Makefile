# `make demo`, `make test` and `make bench` build .venv on first use and reuse it afterwards.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready

.PHONY: demo test bench lint types layers unit verify rules docs gallery clean

demo: $(READY)
	$(BIN)/nke demo

# Some hours; a folder of its own, in which a run that was stopped goes on.
bench: $(READY)
	$(BIN)/nke bench -o nke-bench

test: lint types layers unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/basedpyright

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -n 2 --dist loadgroup

verify: $(READY)
	$(BIN)/pytest -n 2 -m validation tests
	$(BIN)/python -m benchmarks.validation

# The table of thresholds in docs/decisions.md, from the code.
rules: $(READY)
	$(BIN)/python docs/write_rules.py

# The documentation site, in site/; a link that leads nowhere is an error.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What the examples of the gallery print and draw, anew.
gallery: $(DOCS_READY)
	$(BIN)/python docs/gallery/make.py

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $@

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nke needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
