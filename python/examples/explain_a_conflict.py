# %% [markdown]
# # Write rules, and see a conflict explained
# Two rules may demand opposite things of one patient. `check` finds such a patient; `compile` proves that it is never written.

# %%
import conseq as cq

rules = cq.Rules.parse("""
rule high-sugar-is-treated:    DIABETES and A1C//high => INSULIN or METFORMIN
rule no-metformin-on-dialysis: DIALYSIS => not METFORMIN
rule no-insulin-without-need:  not A1C//high => not INSULIN
rule allergy:                  INSULIN-ALLERGY => not INSULIN
""")
report = rules.check()
print(report)

# %% [markdown]
# Each conflict has a record in which the two rules meet.

# %%
for conflict in report.conflicts:
    print(conflict.demands.name, "against", conflict.forbids.name, "over", conflict.code)
    print("  as in", conflict.witness)
assert report.conflicts

# %% [markdown]
# The rules can be kept all the same: what would lead into the conflict is forbidden. The derived rules say so.

# %%
plan = rules.compile()
print(plan.proof)

# %% [markdown]
# Rules that nobody can obey have no plan, and the error names the fewest that are to blame.

# %%
try:
    cq.Rules.parse("rule always: SMOKER  rule never: not SMOKER  rule other: A => B").compile()
except cq.CompileError as error:
    print(error)
    blamed = sorted(rule["name"] for rule in error.rules)
assert blamed == ["always", "never"]
