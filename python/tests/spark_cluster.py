"""A Spark cluster for the tests: `CONSEQ_SPARK=cluster` starts two executors on this machine, `connect` a server of Spark
Connect."""

import os
import sys

import pytest

#: The rows of a batch: few, so that patients are cut by the borders of batches.
BATCH_ROWS = 97

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


def connect_is_asked_for():
    return os.environ.get("CONSEQ_SPARK") == "connect"


def started():
    """The session that the environment asks for."""
    from pyspark.sql import SparkSession

    # Workers find this package where the driver does.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder
    if connect_is_asked_for():
        builder = builder.remote("local[2]")
    else:
        builder = builder.master("local-cluster[2,1,1024]")
    for key, value in SETTINGS.items():
        # A server has its own settings; those of a session can be changed.
        if key.startswith("spark.sql.") or not connect_is_asked_for():
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not connect_is_asked_for():
        session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="session")
def spark():
    session = started()
    yield session
    session.stop()
