PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check browser clean

demo: $(VENV)/installed  ## score the bundled samples with the local scorer; needs no key
	$(BIN)/claimeval demo

test: $(VENV)/installed-for-tests browser  ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

browser:  ## a browser for the tests of the report, where Debian's packages can be installed; they skip without
	@command -v chromedriver >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; } \
		|| echo "no browser could be installed: the tests that need one will say so and skip"

check: $(VENV)/installed-for-tests  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "claimeval needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/installed

clean:  ## remove what make installed
	rm -rf $(VENV)
