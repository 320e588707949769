# %% [markdown]
# # Repair the records of another generator
# Any tool's records can be made to obey. Codes keep their value unless a rule forces another, and the report tells what changed.

# %%
import random

import conseq as cq

random.seed(7)


def another_generator(patients: int) -> list[dict[str, object]]:
    """Knows no rules: draws every code by itself."""
    records = []
    for number in range(patients):
        visits = [
            [code for code in ("DIABETES", "INSULIN", "PREGNANCY", "FEVER") if random.random() < 0.2]
            for _ in range(random.randint(1, 4))
        ]
        records.append({"id": number, "static": [random.choice(["SEX//F", "SEX//M"])], "visits": visits})
    return records


drawn = cq.Cohort.from_records(another_generator(2_000))
rules = cq.Rules.parse("""
static SEX//F, SEX//M
rule no-pregnancy-in-men:  SEX//M in static => not PREGNANCY
rule diabetes-is-lifelong: DIABETES in previous => DIABETES
rule insulin-is-for-some:  INSULIN => DIABETES
""")
plan = rules.compile(drawn)
before = plan.audit(drawn)
print(f"{before.valid_records:,} of {before.records:,} records obey")

# %%
repaired = plan.enforce(drawn)
print(repaired.report)
after = plan.audit(repaired, referee=True)
assert before.found and not after.found
assert len(repaired) == len(drawn)
