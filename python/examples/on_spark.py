# %% [markdown]
# # On a Spark cluster, over Parquet tables
# The records stay where they are: only counts come to the driver, and what is written stays in the cluster.

# %%
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import conseq as cq
from conseq import spark as cs

# Workers are to find this package, with the Python that has it.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)
folder = Path(tempfile.mkdtemp())
simulated = cq.Cohort.simulate("inpatient", patients=500, seed=5)
simulated.to_csv(folder / "claims.csv")

# %% [markdown]
# A table of claims, as a lakehouse has it: who, when, which code. Here it is made of a file.

# %%
claims = spark.read.csv(str(folder / "claims.csv"), header=True, inferSchema=True)
claims.write.parquet(str(folder / "claims"))
claims = spark.read.parquet(str(folder / "claims"))
claims.printSchema()

# %% [markdown]
# Rows without a time are codes of the patient, such as the sex. Rules are found where the records are, and are the same
# that one machine finds.

# %%
records = cs.Records(claims, subject="subject_id", time="time", code="code", visit="visit", name="claims")
rules = cs.mine(records)
report = cs.audit(records, rules)
print(report)
assert not report.found

# %% [markdown]
# Some patients come to the driver, to train on; what the model writes stays in the cluster.

# %%
model = cq.Model.train(records.sample(400), rules, generator="markov")
made = cs.generate(spark, model, 1_000, partitions=4)
made.events.write.parquet(str(folder / "generated/events"))
made.codes.write.parquet(str(folder / "generated/codes"))
print(made.report())
assert not cs.audit(made, rules).found
spark.stop()
