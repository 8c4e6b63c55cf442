"""What benchmarks/table.py must not get wrong: phases, ratios, rows that are no rows."""

import unittest

import table


def row(name="fireflyer", ranks=2, count=4, median=1.0, before=50, after=50, right=True):
    return table.Row(name, ranks, count, median, median, median, median, median, 10, before, after, right)


class ParseRow(unittest.TestCase):
    def test_reads_what_the_programs_print(self):
        parsed = table.parse_row("impi,2,65536,4.520,4.100,5.000,6.750,4.600,1000,48,51,ok\n")
        self.assertEqual((parsed.name, parsed.bytes, parsed.median, parsed.after, parsed.right),
                         ("impi", 65536, 4.52, 51, True))

    def test_leaves_out_what_libraries_log(self):
        self.assertIsNone(table.parse_row("2026:01:01 |CCL_WARN| value changed, to, be, mpi"))
        self.assertIsNone(table.parse_row(",".join("abcdefghijk") + ",ok"))
        self.assertIsNone(table.parse_row(""))

    def test_marks_wrong_sums(self):
        self.assertFalse(table.parse_row("x,2,4,1,1,1,1,1,5,48,51,wrong").right)


class Threshold(unittest.TestCase):
    def test_two_groups_are_two_phases(self):
        rows = [row(before=ns, after=ns + 3) for ns in (45, 47, 50, 52, 200, 210, 205, 48)]
        limit = table.threshold(rows)
        self.assertTrue(55 < limit < 200)
        self.assertEqual(table.phase_of(row(before=60, after=50), limit), "near")
        self.assertEqual(table.phase_of(row(before=199, after=205), limit), "far")
        self.assertEqual(table.phase_of(row(before=50, after=205), limit), "mixed")

    def test_one_wide_group_is_one_phase(self):
        rows = [row(before=ns, after=ns) for ns in range(115, 222, 6)]
        self.assertIsNone(table.threshold(rows))

    def test_one_outlier_is_no_phase(self):
        rows = [row(before=50, after=51) for _ in range(60)] + [row(before=50, after=300)]
        self.assertIsNone(table.threshold(rows))

    def test_machines_without_a_second_core(self):
        self.assertIsNone(table.threshold([row(before=0, after=0)]))


class Render(unittest.TestCase):
    def test_ratio_is_best_peer_by_ours(self):
        rows = [row(median=2.0), row("a", median=5.0), row("b", median=3.0), row("bound", median=1.0)]
        line = next(x for x in table.render(rows).splitlines() if x.startswith("| 4 B"))
        self.assertEqual(line, "| 4 B | **2 us** | 5 us | 3 us | 1.50 | 1 us | 2.0 |")

    def test_medians_over_rounds(self):
        rows = [row(median=m) for m in (1.0, 9.0, 2.0)]
        self.assertIn("**2 us**", table.render(rows))

    def test_phases_are_never_mixed(self):
        near = [row(median=1.0, before=48, after=49) for _ in range(6)]
        far = [row("a", median=0.5, before=205, after=204) for _ in range(6)]
        head, first, second = table.render(near + far).split("### ")
        self.assertIn("near is below", head)
        self.assertTrue(first.startswith("2 ranks, near") and second.startswith("2 ranks, far"))
        self.assertIn("| 4 B | **1 us** | - |", first)  # nobody to compare with
        self.assertIn("| 4 B | **0.5 us** | - |", second)

    def test_wrong_sums_have_no_time(self):
        self.assertNotIn("1 us", table.render([row(median=1.0, right=False)]))

    def test_large_units(self):
        self.assertEqual(table.time_text(999.6), "1 ms")
        self.assertEqual(table.time_text(12345), "12.3 ms")
        self.assertEqual(table.size_text(64 << 20), "64 MiB")


if __name__ == "__main__":
    unittest.main()
