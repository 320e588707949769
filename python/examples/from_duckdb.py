# %% [markdown]
# # From DuckDB over Parquet
# Joins and filters are DuckDB's work; what it gives is read as a stream of Arrow.

# %%
import tempfile
from pathlib import Path

import duckdb

import conseq as cq

folder = Path(tempfile.mkdtemp())
cq.Cohort.simulate("inpatient", patients=1_000, seed=5).save(folder / "cohort")
files = str(folder / "cohort" / "data" / "*.parquet")

# %%
women = duckdb.sql(f"""
    select subject_id, time, code, visit_id
    from read_parquet('{files}')
    where subject_id in (select subject_id from read_parquet('{files}') where code = 'SEX//F')
      and code not like 'VISIT%' and code not like 'MEDS_%'
    order by subject_id, time nulls first
""")
cohort = cq.Cohort.from_table(women, name="women")
cohort

# %%
rules = cq.Rules.parse("rule women-alone: SEX//F in static")
report = rules.compile(cohort).audit(cohort)
print(report)
assert not report.found
