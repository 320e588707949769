# %% [markdown]
# # Audit a cohort from pandas
# A frame with one code a row is held against rules, and the frame of violations is a frame again.

# %%
import pandas as pd

import conseq as cq

events = pd.DataFrame(
    {
        "subject_id": [1, 1, 1, 2, 2, 3, 3],
        "time": pd.to_datetime([None, "2024-01-31", "2024-03-01", None, "2024-02-02", None, "2024-05-05"]),
        "code": ["SEX//F", "DIABETES", "FEVER", "SEX//M", "PREGNANCY", "SEX//F", "PREGNANCY"],
    }
)
cohort = cq.Cohort.from_table(events)
cohort

# %% [markdown]
# Rows without a time are static codes; rows of one day are one encounter.

# %%
rules = cq.Rules.parse("""
rule no-pregnancy-in-men:  SEX//M in static => not PREGNANCY
rule diabetes-is-lifelong: DIABETES in previous => DIABETES
""")
plan = rules.compile(cohort)
report = plan.audit(cohort)
print(report)

# %% [markdown]
# What is in a report is there as attributes, as a dictionary, and as frames.

# %%
broken = report.to_frame("broken")
assert report.found and len(broken) == 2
assert sorted(broken["rule.name"]) == ["diabetes-is-lifelong", "no-pregnancy-in-men"]
broken
