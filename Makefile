# What there is to do here. Needs Rust, a C compiler, Python 3 and make; nothing else.

CARGO ?= cargo
PYTHON ?= python3
# Packages that judge what we write; made by `make python-env`, and only used in tests.
JUDGE := target/python/bin/python
JUDGE_READY := $(JUDGE) -c 'import meds, pyarrow, pandas' 2>/dev/null
CHECK_READY := $(JUDGE) -c 'import numpy, sklearn, pandas, pyarrow' 2>/dev/null

# What opens reports as a reader does; see tools/browser.
BROWSER_READY := command -v chromium >/dev/null && command -v chromedriver >/dev/null
DRIVER_READY := $(JUDGE) -c 'import selenium' 2>/dev/null

# What builds and tests the Python package and the documentation; made by `make package-env`.
PACKAGE := target/package-env/bin/python
PACKAGE_READY := $(PACKAGE) -c 'import maturin, pytest, mypy, pandas, polars, pyarrow, duckdb' 2>/dev/null
DOCS_READY := $(PACKAGE) -c 'import sphinx, myst_parser, furo' 2>/dev/null
# The package as the workspace builds it, so that nothing is compiled twice; `make wheel` makes what people install.
STAGED := $(CURDIR)/target/package
WHEELS := target/wheels
# The program that stands for the C compiler is found by the first python3 on the path.
WITH_ZIG := PATH="$(CURDIR)/target/package-env/bin:$$PATH" $(PACKAGE) -m maturin build --locked --profile wheel --zig \
	--compatibility manylinux2014
# What tests the part of it that needs PyTorch; made by `make env-torch`, which fetches gigabytes.
TORCH := target/torch-env/bin/python
TORCH_READY := $(TORCH) -c 'import torch, pytest' 2>/dev/null
# What tests the part of it that runs on Spark; made by `make env-spark`, which needs half a gigabyte and Java.
SPARK := target/spark-env/bin/python
SPARK_READY := command -v java >/dev/null && $(SPARK) -c 'import pyspark, pyarrow, pytest' 2>/dev/null
# A cluster of two executors on this machine, or a server of Spark Connect.
ON_SPARK = cd python/tests && CONSEQ_SPARK=$$session PYTHONPATH=$(STAGED):$(CURDIR)/python/tests \
	../../$(SPARK) -m pytest --quiet -p no:cacheprovider --disable-warnings
SPARK_TESTS := test_spark.py test_spark_omop.py test_spark_faults.py test_spark_models.py test_spark_tables.py test_spark_workers.py
# The package as it is now beside PyTorch, and what it is measured beside.
WITH_TORCH := $(TORCH) -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall --no-index \
	--find-links $(WHEELS) conseq && $(TORCH) -m pip install --quiet --disable-pip-version-check --no-deps pishield

.PHONY: help demo test bench study comparison format wheel env-torch env-spark staged-package

help:
	@echo "make demo    simulated records: find rules in them, prove, train, generate, audit"
	@echo "make test    everything that must hold before a change goes in"
	@echo "make bench   what rules and cohorts cost, measured"
	@echo "make study   what the project claims, shown at full length"
	@echo "make comparison   every method of the paper on three cohorts, as reports"
	@echo "make wheel   the Python package: wheels for two kinds of machines, and the sources"
	@echo "make docs    the documentation as a site: target/site"
	@echo "make format  lay the code out"

demo:
	@echo "Building the program; the first time that takes some minutes."
	@$(CARGO) build --locked --release -p consequence-cli
	@echo "Simulated records: finding rules in them, proving, training, generating, evaluating."
	@$(CARGO) run --quiet --locked --release -p consequence-cli -- demo --out consequence-demo --force

python-env:
	@$(JUDGE_READY) || { $(PYTHON) -m venv target/python && \
		$(JUDGE) -m pip install --quiet --disable-pip-version-check 'meds>=0.4,<0.5' pyarrow pandas; } || \
		echo "SKIPPED: pip could not install meds and pyarrow, so the meds package judges no dataset" >&2
	@$(CHECK_READY) || { { test -x $(JUDGE) || $(PYTHON) -m venv target/python; } && \
		$(JUDGE) -m pip install --quiet --disable-pip-version-check numpy scikit-learn pandas pyarrow; } || \
		echo "SKIPPED: pip could not install numpy, scikit-learn and pandas, so no figure is worked out again" >&2

package-env:
	@$(PACKAGE_READY) || { $(PYTHON) -m venv target/package-env && \
		$(PACKAGE) -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' pytest mypy pandas polars \
			pyarrow duckdb tqdm; } || \
		echo "SKIPPED: pip could not install maturin, pytest and the packages that tables come from" >&2
	@$(DOCS_READY) || { test -x $(PACKAGE) && \
		$(PACKAGE) -m pip install --quiet --disable-pip-version-check 'sphinx>=8' 'myst-parser>=4' furo; } || \
		echo "SKIPPED: pip could not install sphinx, myst-parser and furo, so no documentation is built" >&2

staged-package:
	@$(CARGO) build --quiet --locked --workspace
	@rm -rf $(STAGED) && mkdir -p $(STAGED) && cp -r python/conseq $(STAGED)/ && \
		cp target/debug/lib_native.so $(STAGED)/conseq/_native.abi3.so

package-test: package-env staged-package
	@if $(PACKAGE_READY); then set -e; (cd python && ../$(PACKAGE) -m mypy && \
		../$(PACKAGE) -m mypy --follow-imports=silent --ignore-missing-imports \
			--allow-subclassing-any --allow-untyped-decorators examples/*.py); \
		cd python/tests && PYTHONPATH=$(STAGED) ../../$(PACKAGE) -m pytest --quiet . ../README.md ../../docs/for-researchers.md \
			--doctest-modules --doctest-ignore-import-errors --pyargs conseq -p no:cacheprovider; \
		else echo "SKIPPED: maturin, pytest or a library of tables is not there, so the Python package was not tested" >&2; fi

# Pages with links that lead nowhere are refused.
docs: package-env staged-package
	@if $(DOCS_READY); then PYTHONPATH=$(STAGED) $(PACKAGE) -m sphinx -q -W --keep-going -c docs -b html . target/site && \
		echo "target/site/docs/index.html"; \
		else echo "SKIPPED: sphinx, myst-parser or furo is not there, so no documentation was built" >&2; fi

env-torch:
	@$(TORCH_READY) || { $(PYTHON) -m venv target/torch-env && \
		$(TORCH) -m pip install --quiet --disable-pip-version-check torch numpy pytest; }

torch-test: staged-package
	@if $(TORCH_READY); then \
		PYTHONPATH=$(STAGED) $(TORCH) -m pytest --quiet python/tests/test_torch.py python/tests/test_torch_networks.py \
			'python/tests/test_examples.py::test_example_runs[constrain_a_gru]'; \
		else echo "SKIPPED: PyTorch is not there, so conseq.torch was not tested; make env-torch torch-test" >&2; fi

env-spark:
	@command -v java >/dev/null || apt-get install -y default-jre-headless || \
		echo "Spark needs Java, 17 or newer: install it, then run this again" >&2
	@$(SPARK_READY) || { $(PYTHON) -m venv target/spark-env && \
		$(SPARK) -m pip install --quiet --disable-pip-version-check 'pyspark[connect]>=4,<5' pyarrow 'pandas<3' pytest; }

# Every verb on a cluster and over Spark Connect; many partitions and the larger tables are left to `make study`.
spark-test: staged-package
	@if $(SPARK_READY); then set -e; \
		(session=; $(ON_SPARK) 'test_examples.py::test_example_runs[on_spark]'); \
		(session=cluster; $(ON_SPARK) $(SPARK_TESTS) -k 'not 64 and not synthea'); \
		(session=connect; $(ON_SPARK) test_spark.py -k 'not partitions'); \
		else echo "SKIPPED: PySpark or Java is not there, so conseq.spark was not tested; make env-spark spark-test" >&2; fi

# Wheels that run on any Linux of the last ten years, by the C library that zig brings. The one for aarch64 is
# built and its symbols are looked at; it is not run here.
wheel: package-env
	$(PACKAGE) -m pip install --quiet --disable-pip-version-check 'ziglang>=0.13'
	rustup target add aarch64-unknown-linux-gnu
	rm -rf $(WHEELS)
	$(WITH_ZIG) --manifest-path python/Cargo.toml --out $(WHEELS)
	$(WITH_ZIG) --target aarch64-unknown-linux-gnu --manifest-path python/Cargo.toml --out $(WHEELS)
	$(PACKAGE) -m maturin sdist --manifest-path python/Cargo.toml --out $(WHEELS)
	$(PYTHON) studies/python_package.py wheels $(WHEELS)

# What runs on a GPU, on libraries that stand for CUDA's; see tools/cuda_on_cpu. On a machine with a GPU `cargo test` itself
# has run these on it.
ON_CPU := $(CURDIR)/target/cuda-on-cpu
gpu-test:
	@if command -v g++ >/dev/null; then set -e; sh tools/cuda_on_cpu/build.sh $(ON_CPU); \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-network --test networks gpu; \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-baselines --test rivals gpu; \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-sample --test on_gpu; \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-train --test fitting gpu::halo; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_ORDER=random \
			$(CARGO) test --quiet --locked -p consequence-sample --test on_gpu with_rules; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_GPUS=2 $(CARGO) test --quiet --locked -p consequence-sample --test on_gpu two_gpus; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_MEMORY=600000000 \
			$(CARGO) test --quiet --locked -p consequence-sample --test on_gpu keeps_its_size; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_FAILS=700 $(CARGO) test --quiet --locked -p consequence-sample --test on_gpu amid_records; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_FAILS=700 EMULATED_NETWORK=halo \
			$(CARGO) test --quiet --locked -p consequence-sample --test on_gpu amid_records; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_FAILS=12 EMULATED_FAILS_AFTER=adam \
			$(CARGO) test --quiet --locked -p consequence-train --test fitting amid_steps; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_FAILS=12 EMULATED_FAILS_AFTER=adam \
			$(CARGO) test --quiet --locked -p consequence-train --test fitting in_small_steps; \
		LD_LIBRARY_PATH=$(ON_CPU) EMULATED_GPUS=3 EMULATED_BUSY=1 EMULATED_OTHER=2 \
			$(CARGO) test --quiet --locked -p consequence-train --test fitting left_out; \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-train --test fitting settle_on; \
		LD_LIBRARY_PATH=$(ON_CPU) $(CARGO) test --quiet --locked -p consequence-comparison --test trainings where_networks; \
		else echo "SKIPPED: g++ is not there, so no kernel of the GPU was tested" >&2; fi

browser-test:
	@{ $(BROWSER_READY); } || sh tools/browser/install.sh || true
	@$(DRIVER_READY) || { { test -x $(JUDGE) || $(PYTHON) -m venv target/python; } && \
		$(JUDGE) -m pip install --quiet --disable-pip-version-check 'selenium>=4.20,<5'; } || true
	@if { $(BROWSER_READY); } && $(DRIVER_READY); then \
		$(JUDGE) tools/browser/report_pages.py && $(JUDGE) tools/browser/review_page.py && \
		$(JUDGE) tools/browser/written_pages.py; \
		else echo "SKIPPED: chromium, chromedriver or selenium is not there, so no browser opened the reports" >&2; fi

# The parts of `make test`; how long each took is told at the end. Tests often wait, for processes and
# files, so what compiles or reads goes on beside them once they are built.
TEST_FIRST := python-env layout rust-build
TEST_BESIDE := lints documentation python-test package-test docs torch-test spark-test gpu-test meds-test figures-test browser-test
TIMES := target/test-times
TIMED = echo "== $$part"; began=$$(date +%s); $(MAKE) --no-print-directory $$part; \
	printf '%5d s  %s\n' $$(($$(date +%s) - began)) $$part >> $(TIMES)

.PHONY: $(TEST_FIRST) rust-test $(TEST_BESIDE)

test:
	@test -d ../shared || echo "SKIPPED: ../shared is missing, so tests on the published rules and real records do not run" >&2
	@mkdir -p target && rm -f $(TIMES)
	@set -e; for part in $(TEST_FIRST); do $(TIMED); done
	@(set -e; sleep 10; for part in $(TEST_BESIDE); do $(TIMED); done) > target/test-beside 2>&1 & beside=$$!; \
		(set -e; part=rust-test; $(TIMED)); tested=$$?; \
		wait $$beside; checked=$$?; cat target/test-beside; \
		test $$tested -eq 0 -a $$checked -eq 0
	@test -d ../shared || echo "SKIPPED: ../shared is missing, so tests on the published rules and real records did not run" >&2
	@echo "make test: everything holds. It took"; cat $(TIMES)

layout:
	$(CARGO) fmt --all --check

lints:
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

rust-build:
	$(CARGO) build --locked --workspace
	$(CARGO) test --locked --workspace --tests --examples --no-run

rust-test:
	CARGO="$(CARGO)" $(PYTHON) tools/run_tests.py

documentation:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

python-test:
	$(PYTHON) tools/check_dependencies.py
	$(PYTHON) -m unittest discover --start-directory tools --pattern 'test_*.py'
	$(PYTHON) studies/unprepared.py mimic3 --seeds 1 --program target/debug/consequence --check
	$(PYTHON) studies/time_values.py inpatients --seeds 1 --program target/debug/consequence --short --check

meds-test:
	@if $(JUDGE_READY); then $(JUDGE) tools/validate_meds.py && \
		$(JUDGE) studies/guidance.py inpatients --records 500 --seeds 1 --epochs 1 --program target/debug/consequence --check; \
		else echo "SKIPPED: the meds package is not there, so it judged no dataset" >&2; fi

figures-test:
	@if $(CHECK_READY); then $(JUDGE) tools/cross_check.py && \
		$(JUDGE) tools/cross_check_describe.py --short --program target/debug/consequence; \
		else echo "SKIPPED: numpy, scikit-learn or pandas is not there, so no figure was worked out again" >&2; fi

bench:
	@set -e; for program in benches/src/bin/*.rs; do \
		name=$$(basename $$program .rs); echo "== $$name"; \
		$(CARGO) run --quiet --locked --release -p consequence-benches --bin $$name; \
	done

study:
	@set -e; for name in small_worlds superfluous_claims repairs look_ahead alternatives rule_cost published_orders soft_frequency mining mining_splits rule_gain real_rules training networks; do \
		echo "== $$name"; \
		$(CARGO) run --quiet --locked --release -p consequence-studies --bin $$name; \
	done
	@echo "== unprepared"
	$(CARGO) build --quiet --locked --release -p consequence-cli
	$(PYTHON) studies/unprepared.py
	@echo "== time_values"
	$(PYTHON) studies/time_values.py
	@echo "== fact_worlds, guidance"
	CONSEQUENCE_WORLDS=3000 $(CARGO) test --quiet --locked --release -p consequence-enforce --test fact_worlds
	@if $(JUDGE_READY); then $(JUDGE) studies/guidance.py --check; \
		else echo "SKIPPED: pyarrow is not there, so no rules of guidance were kept" >&2; fi
	@echo "== python_package"
	$(MAKE) --no-print-directory wheel
	for claim in sources install start audit copies; do $(PACKAGE) studies/python_package.py $$claim $(WHEELS) || exit 1; done
	@echo "== torch_layer"
	@if ! { $(TORCH_READY); }; then \
		echo "SKIPPED: PyTorch is not there, so nothing was shown of conseq.torch; make env-torch study" >&2; \
	elif ! test -d ../shared/reference; then \
		echo "SKIPPED: ../shared is missing, so conseq.torch was not measured on the published rules" >&2; \
		$(WITH_TORCH) && $(TORCH) studies/torch_layer.py equal train; \
	else $(WITH_TORCH) && $(TORCH) studies/torch_layer.py; fi
	@echo "== spark"
	@if $(SPARK_READY); then set -e; $(MAKE) --no-print-directory staged-package; for session in cluster connect; do \
		($(ON_SPARK) $(SPARK_TESTS)); done; \
		$(CARGO) build --quiet --locked --release -p consequence-cli -p consequence-python; \
		$(SPARK) studies/spark.py; $(SPARK) studies/spark_omop.py; \
		else echo "SKIPPED: PySpark or Java is not there, so nothing was shown of conseq.spark; make env-spark study" >&2; fi
	@echo "== fuzz"
	CONSEQUENCE_FUZZ_INPUTS=300000 $(CARGO) test --quiet --locked --release -p consequence-fuzz --test targets
	@echo "== kills"
	$(CARGO) build --quiet --locked --release -p consequence-cli -p consequence-studies --bin consequence --bin kills
	target/release/kills
	@echo "== dense_rules, speed_cpu"
	$(CARGO) build --quiet --locked --release -p consequence-studies --bin dense_rules --bin speed_cpu
	@test -x target/study-venv/bin/python || $(PYTHON) -m venv target/study-venv
	target/study-venv/bin/pip install --quiet torch numpy
	target/study-venv/bin/python studies/dense_rules.py
	target/study-venv/bin/python studies/speed_cpu.py
	@echo "== readers"
	$(PYTHON) studies/readers.py
	@echo "== omop_readers"
	@if test -d ../shared/data; then $(PYTHON) studies/omop_readers.py ../shared/data/outpatient/synthea1k_omop; \
		else echo "SKIPPED: ../shared is missing, so PyHealth read no OMOP tables" >&2; fi

# Three hours on two cores. The reports kept under docs/comparison come from here.
COMPARISON := target/comparison
CONSEQUENCE := target/release/consequence
THOROUGH := --seeds 3 --also-halo --rates 0.5 1 2 --deep-runs 3
UCI := ../shared/data/inpatient/uci_diabetes130
MCE := ../shared/data/rules/mce/MCE_Simple_Code_Edits_v32.txt
ICD9 := ../shared/data/rules/icd/icd9dx2015.csv.gz

comparison:
	$(CARGO) build --quiet --locked --release -p consequence-cli
	mkdir -p $(COMPARISON)
	$(CONSEQUENCE) simulate inpatient --out $(COMPARISON)/inpatients --force
	$(CONSEQUENCE) compare $(COMPARISON)/inpatients --out $(COMPARISON)/inpatient $(THOROUGH) --force
	$(CONSEQUENCE) simulate outpatient --patients 4k --out $(COMPARISON)/outpatients --force
	$(CONSEQUENCE) compare $(COMPARISON)/outpatients --out $(COMPARISON)/outpatient --train-records 3000 \
		--records 500 --runs 12 $(THOROUGH) --force
	@if test -d $(UCI); then set -ex; \
		$(CONSEQUENCE) import uci-diabetes $(UCI) --out $(COMPARISON)/diabetes --force; \
		$(CONSEQUENCE) mine $(COMPARISON)/diabetes --out $(COMPARISON)/mined.rules --force; \
		$(CONSEQUENCE) rules from mce $(MCE) --level categories --codes $(ICD9) \
			--cohort $(COMPARISON)/diabetes --out $(COMPARISON)/editor.rules --force; \
		grep -v '^rule age-' $(COMPARISON)/editor.rules > $(COMPARISON)/sex.rules; \
		$(CONSEQUENCE) compare $(COMPARISON)/diabetes --rules $(COMPARISON)/mined.rules \
			$(COMPARISON)/sex.rules --out $(COMPARISON)/uci $(THOROUGH) --force; \
	else echo "SKIPPED: ../shared is missing, so nothing was compared on the UCI diabetes data" >&2; fi

format:
	$(CARGO) fmt --all
