# Two commands on a fresh machine with Python 3.11+, make and a package index: `make demo` and `make test`.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
DEMO := demo

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help:
	@echo "make demo   review vllm-ascend 0.11.0 for the move from vLLM 0.11.0 to 0.13.0, into ./$(DEMO)"
	@echo "make test   lint, types, import directions and tests"
	@echo "make bench  time and memory beside pyright and ty: make bench PLUGIN=DIR@REV"
	@echo "make clean  remove $(VENV) and ./$(DEMO)"

demo: $(VENV)/.installed
	$(BIN)/metax-upgrade review --plugin pypi:vllm-ascend==0.11.0 --profile vllm-ascend \
		--base vllm==0.11.0 --target vllm==0.13.0 --out $(DEMO) --fail-on never
	@echo
	@echo "The report lies in $(CURDIR)/$(DEMO): report.html for a browser, report.md for a pull request."

test: $(VENV)/.installed-dev lint
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	@test -n "$(PLUGIN)" || { echo "Say which plugin: make bench PLUGIN=/path/to/vLLM-metax@REV" >&2; exit 2; }
	$(BIN)/python -m evals.bench --plugin "$(PLUGIN)" $(if $(BASE),--base $(BASE)) $(if $(TARGET),--target $(TARGET))

clean:
	rm -rf $(VENV) $(DEMO)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $(VENV)/.installed $@

# A candidate is tried by running it: version managers leave shims of versions that are not there.
$(BIN)/python:
	@for candidate in $(PYTHON) python3.13 python3.12 python3.11 python3.14 python3 python; do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			found="$$candidate"; break; \
		fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; \
	fi; \
	"$$found" -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "$$found cannot make virtual environments (on Debian: apt-get install python3-venv)." >&2; \
		exit 1; \
	}
