"""`ff perf all_reduce` as users start it: as threads, under `ff run`, with wrong words. FF is its path."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

FF = os.environ["FF"]


def run(*words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_TESTS_")}
    return subprocess.run([FF, *words], capture_output=True, text=True, timeout=100, env=environment)


def rows(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


class Perf(unittest.TestCase):
    def check(self, done, wanted_rows):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)
        found = rows(done.stdout)
        self.assertEqual(len(found), wanted_rows, done.stdout)
        for row in found:
            self.assertEqual(len(row), 13, row)
            self.assertEqual((row[8], row[12]), ("0", "0"))  # checked, and right

    def test_threads_of_one_process(self):
        self.check(run("perf", "all_reduce", "-t", "2", "-b", "4", "-e", "64K", "-f", "16"), 4)

    def test_one_rank_alone(self):
        self.check(run("perf", "all_reduce", "-b", "1K", "-e", "1K"), 1)

    def test_processes(self):
        done = run("run", "-n", "3", "--tag", "no", "--", FF, "perf", "all_reduce", "-b", "1M", "-e", "1M", "-n", "3")
        self.check(done, 1)

    def test_processes_with_threads(self):
        done = run("run", "-n", "2", "--tag", "no", "--", FF, "perf", "all_reduce", "-t", "2", "-b", "4K", "-e", "4K")
        self.check(done, 1)
        self.assertIn("#  Rank  3 Group  0", done.stdout)

    def test_every_type_and_operation(self):
        done = run("perf", "all_reduce", "-t", "3", "-b", "1000", "-e", "1000", "-d", "all", "-o", "all", "-n", "2")
        self.check(done, 6 * 5 + 9 * 7)  # floats have five operations, the others seven

    def test_asynchronous_calls(self):
        self.check(run("perf", "all_reduce", "-t", "2", "-b", "64K", "-e", "64K", "-z", "0", "-m", "3"), 1)

    def test_misaligned_buffers(self):
        self.check(run("perf", "all_reduce", "-t", "2", "-b", "64K", "-e", "64K", "-u", "3"), 1)

    def test_nothing_to_add(self):
        self.check(run("perf", "all_reduce", "-t", "2", "-b", "0", "-e", "0"), 1)

    def test_stats_and_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            done = run("perf", "all_reduce", "-t", "2", "-b", "4K", "-e", "8K", "-f", "2", "--stats", "-J", str(path))
            self.check(done, 2)
            self.assertEqual(done.stdout.count("core to core"), 2)
            results = json.loads(path.read_text())["results"]
        self.assertEqual([result["size"] for result in results], [4096, 8192])
        for result in results:
            self.assertEqual(result["in_place"]["nwrong"], 0)
            self.assertLessEqual(result["in_place"]["min_us"], result["in_place"]["p50_us"])
            self.assertGreater(result["model_us"], 0)
            self.assertTrue(result["algorithm"] and result["reason"])

    def test_csv(self):
        done = run("perf", "all_reduce", "-t", "2", "-b", "4", "-e", "4", "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        head, row = (line.split(",") for line in done.stdout.splitlines())
        self.assertEqual(len(head), len(row))
        self.assertEqual(dict(zip(head, row))["in_wrong"], "0")

    def test_library_options_reach_the_library(self):
        done = run("perf", "all_reduce", "-t", "3", "-b", "4K", "-e", "4K", "--stats", "--options", "algorithm=ring")
        self.check(done, 1)
        self.assertIn(" us, ring: ", done.stdout)

    def test_wrong_words_are_refused(self):
        for words, text in ((["-d", "floot"], "unknown type 'floot'"), (["-o", "mulsum"], "unknown operation 'mulsum'"),
                            (["-b", "2", "-e", "1"], "above"), (["--nonsense"], "nonsense")):
            done = run("perf", "all_reduce", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr + done.stdout)

    def test_wrong_library_options_are_the_librarys_error(self):
        done = run("perf", "all_reduce", "-t", "2", "-b", "4", "-e", "4", "--options", "algorithm=none_such")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none_such", done.stderr)

    def test_too_slow_fails(self):
        environment = {**os.environ, "NCCL_TESTS_MIN_BW": "1e6"}
        done = subprocess.run([FF, "perf", "all_reduce", "-t", "2", "-b", "4", "-e", "4"], capture_output=True,
                              text=True, timeout=100, env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED", done.stdout)

    def test_device_flags_are_named_on_standard_error(self):
        done = run("perf", "all_reduce", "-t", "2", "-b", "4", "-e", "4", "-G", "1")
        self.check(done, 1)
        self.assertIn("-G,--cudagraph 1 changes nothing", done.stderr)


if __name__ == "__main__":
    unittest.main()
