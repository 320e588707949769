# %% [markdown]
# # Train, generate and report on the MIMIC-III demo
# From the tables of 100 patients to new records, measured beside the real ones. Name the folder with the tables in `MIMIC3`.

# %%
import os
import sys
import tempfile
from pathlib import Path

import conseq as cq

tables = Path(os.environ.get("MIMIC3", "../../../shared/data/inpatient/mimic3_demo"))
if not tables.is_dir():
    print(f"SKIPPED: no tables of MIMIC-III at {tables}", file=sys.stderr)
    raise SystemExit(0)

cohort = cq.Cohort.from_mimic3(tables, truncate=3)
print(cohort.report)

# %%
rules = cq.Rules.common_sense(cohort) + cq.Rules.mine(cohort)
model = cq.Model.train(cohort, rules=rules, size="tiny", epochs=5, accept_broken=True)
synthetic = model.sample(100, seed=1)
print(synthetic.head(2))

# %%
folder = Path(tempfile.mkdtemp())
measured = cq.evaluate(cohort, synthetic, rules, out=folder / "report")
print(measured)
assert (folder / "report" / "report.html").is_file()
assert not rules.compile(synthetic).audit(synthetic).found
