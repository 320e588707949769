# %% [markdown]
# # From polars, and back
# Frames of polars are read without a copy, and cohorts go back as frames.

# %%
import polars as pl

import conseq as cq

simulated = cq.Cohort.simulate("inpatient", patients=500, seed=3)
events = simulated.to_polars()
events.head()

# %%
cohort = cq.Cohort.from_table(events.filter(pl.col("code") != "GAP//0d"))
commonest = events.group_by("code").len().sort("len", descending=True)
print(commonest.head(5))
assert len(cohort) == 500

# %% [markdown]
# Rules are found in the frame itself.

# %%
mined = cq.Rules.mine(simulated)
print(len(mined), "rules, the first:", next(iter(mined)))
assert not mined.compile(simulated).audit(simulated, split="train").found
