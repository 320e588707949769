#!/usr/bin/env python3
"""Has the `meds` package judge datasets that `crates/tables` wrote.

Needs `meds` and `pyarrow`, which `make python-env` installs under `target/python`. The datasets come
from the example `sample_dataset`; a folder given as an argument is judged instead.
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from meds import (
    CodeMetadataSchema,
    DataSchema,
    DatasetMetadataSchema,
    SubjectSplitSchema,
    birth_code,
    code_metadata_filepath,
    data_subdirectory,
    dataset_metadata_filepath,
    death_code,
    subject_splits_filepath,
)

from examples import run_example

GIVEN = None


def write_samples(folder):
    """Writes the sample datasets and gives their paths."""
    run_example("sample_dataset", folder)
    return [folder / "dated", folder / "undated", folder / "detailed"]


class Datasets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.datasets = [GIVEN] if GIVEN else write_samples(Path(cls.temporary.name))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def shards(self, dataset):
        shards = sorted((dataset / data_subdirectory).glob("**/*.parquet"))
        self.assertTrue(shards)
        return shards

    def each(self):
        for dataset in self.datasets:
            with self.subTest(dataset.name):
                yield dataset

    def test_events(self):
        for dataset in self.each():
            for shard in self.shards(dataset):
                table = pq.read_table(shard)
                DataSchema.validate(table)
                self.assertEqual(table.schema.field("subject_id").type, pa.int64())
                self.assertEqual(table.schema.field("time").type, pa.timestamp("us"))
                self.assertEqual(table.schema.field("code").type, pa.string())
                self.assertEqual(table.schema.field("numeric_value").type, pa.float32())
                self.assertEqual(table.schema.field("visit_id").type, pa.int64())
                group = pq.ParquetFile(shard).metadata.row_group(0)
                self.assertEqual(group.column(0).compression, "ZSTD")

    def test_subjects_are_whole_and_in_order(self):
        for dataset in self.each():
            seen = set()
            for shard in self.shards(dataset):
                rows = pq.read_table(shard, columns=["subject_id", "time"]).to_pylist()
                current, latest = None, None
                for row in rows:
                    if row["subject_id"] != current:
                        current, latest = row["subject_id"], None
                        self.assertNotIn(current, seen)
                        seen.add(current)
                    if row["time"] is None:
                        self.assertIsNone(latest, "static events come first")
                    else:
                        self.assertTrue(latest is None or latest <= row["time"])
                        latest = row["time"]
            splits = pq.read_table(dataset / subject_splits_filepath)
            self.assertEqual(set(splits["subject_id"].to_pylist()), seen)

    def test_metadata(self):
        for dataset in self.each():
            codes = pq.read_table(dataset / code_metadata_filepath)
            CodeMetadataSchema.validate(codes)
            listed = set(codes["code"].to_pylist())
            for shard in self.shards(dataset):
                used = set(pq.read_table(shard, columns=["code"])["code"].to_pylist())
                self.assertLessEqual(used, listed)
            SubjectSplitSchema.validate(pq.read_table(dataset / subject_splits_filepath))
            description = json.loads((dataset / dataset_metadata_filepath).read_text())
            DatasetMetadataSchema.validate(description)

    def test_births_deaths_ends_and_values(self):
        if GIVEN:
            self.skipTest("what a given dataset holds is not known")
        dataset = self.datasets[-1]
        rows = [row for shard in self.shards(dataset) for row in pq.read_table(shard).to_pylist()]
        of = lambda code: [row for row in rows if row["code"] == code]
        births, deaths, ends = of(birth_code), of(death_code), of("VISIT_END")
        self.assertEqual((len(births), len(deaths), len(ends)), (30, 10, 30))
        self.assertTrue(all(row["visit_id"] is None and row["time"] for row in births))
        # A death stands at the end of its stay, and not where that began.
        begins = {(row["subject_id"], row["visit_id"]): row["time"] for row in of("VISIT")}
        ended = {(row["subject_id"], row["visit_id"]): row["time"] for row in ends}
        for row in deaths:
            visit = (row["subject_id"], row["visit_id"])
            self.assertEqual(row["time"], ended[visit])
            self.assertLess(begins[visit], row["time"])
        scales = pq.read_table(dataset / "metadata" / "values.parquet").to_pylist()
        self.assertEqual({scale["unit"] for scale in scales}, {"%"})
        bounds = {scale["code"]: (scale["above"], scale["up_to"]) for scale in scales}
        valued = [row for row in rows if row["numeric_value"] is not None]
        self.assertEqual(len(valued), 90)
        for row in valued:
            above, up_to = bounds[row["code"]]
            self.assertTrue(above is None or row["numeric_value"] > above)
            self.assertTrue(up_to is None or row["numeric_value"] <= up_to)
        ages = {row["code"] for row in rows if row["code"].startswith("AGE_NOW//")}
        self.assertEqual(ages, {"AGE_NOW//60-70", "AGE_NOW//90+"})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        GIVEN = Path(sys.argv.pop(1))
    unittest.main()
