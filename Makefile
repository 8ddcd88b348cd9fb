# `make demo` and `make test` set everything up on a machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check soak bench docs release format lock browser clean

demo: $(READY)  ## noisy Lorenz data in; equations, graph and scores out
	$(BIN)/graphgrad demo

# Tests are mostly compilation: what is compiled without optimisation is compiled sooner,
# and sooner still by the older of XLA's two ways of writing a loop, which later versions do
# not have, and if a program is not split into parts for threads. Threads of two processes on
# two cores would wait for each other.
OLDER_LOOPS := from jaxlib.version import __version__ as v; \
	  print("--xla_cpu_use_fusion_emitters=false" * v.startswith("0.10."))
XLA := --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1
PYTEST := PATH="$(CURDIR)/$(VENV)/browser:$$PATH" OPENBLAS_NUM_THREADS=1 \
	  XLA_FLAGS="$(XLA) $$($(BIN)/python -c '$(OLDER_LOOPS)')" \
	  $(BIN)/python -m pytest -n 2 --dist worksteal -q

test: $(READY) browser  ## every test, every linter, every documented example
	$(PYTEST)

check: $(READY)  ## what fits in two minutes: all but tests that are marked slow
	$(PYTEST) tests -m "not slow"

SOAK ?= --minutes 60
soak: $(READY)  ## hostile inputs, damaged files and kills for an hour; SOAK="--minutes 5"
	PYTHONPATH=tests $(BIN)/python -m soak $(SOAK)

bench: $(READY)  ## speed, written into docs/scoreboards/speed.md; needs a machine with nothing else to do
	$(BIN)/python -m benchmarks.speed

# Warnings are errors. The gallery is executed: a minute, or four without compiled
# programs on disk; GRAPHGRAD_GALLERY=off leaves that out, to look at other pages.
docs: $(READY)  ## the site, in build/site: no network is needed
	rm -rf build/site docs/gallery docs/reference/api
	$(BIN)/python -m sphinx -W --keep-going -E -q -b html docs build/site
	$(BIN)/python docs/scripts/check_site.py build/site

release:  ## wheel, source archive and site of the last commit, from a clean clone, in dist/
	sh docs/scripts/release.sh dist "$(PYTHON)"

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(READY)  ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11.0 \
	  --no-header --no-emit-index-url --generate-hashes --upgrade -o requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("graphgrad needs Python 3.11 or newer, found " + sys.version.split()[0] + "; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The tests of the report look at it in a browser. Where none can be had they are skipped.
browser: $(READY)
	@sh tests/browser.sh $(VENV)/browser

clean:
	rm -rf $(VENV) build docs/gallery docs/reference/api
