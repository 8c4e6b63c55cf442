"""Each rule against a small tree that keeps it and one that breaks it: a rule that cannot fail proves nothing."""

import pathlib
import tempfile
import unittest

import rules
import source_text

TABLE = """
| module | what it is | may include | libraries |
| --- | --- | --- | --- |
| `include/fireflyer` | public | nothing of ours | none |
| `base` | low | nothing of ours | fmt |
| `engine/kernel` | part of engine | base | none |
| `engine` | middle | base, engine/kernel | none |
| `api` | high | every module above | none |
| `tools` | ff | `include/fireflyer` | CLI11 |
"""

GOOD = {
    "ARCHITECTURE.md": TABLE,
    "include/fireflyer/types.h": "",
    "include/fireflyer/fireflyer.h": '#include "fireflyer/types.h"\n',
    "src/CMakeLists.txt": "ff_module(all SOURCES base/log.cpp engine/drive.cpp api/comm.cpp)",
    "src/base/log.hpp": "#include <fmt/core.h>\n#include <vector>\n",
    "src/base/log.cpp": '#include "base/log.hpp"\n',
    "src/engine/kernel/sum.hpp": '#include "base/log.hpp"\n',
    "src/engine/drive.cpp": '#include "engine/kernel/sum.hpp"\n#include "fireflyer/types.h"\n',
    "src/api/comm.cpp": '#include "fireflyer/fireflyer.h"\n#include "engine/kernel/sum.hpp"\n',
    "tools/ff/run.hpp": "#include <CLI/CLI.hpp>\n",
    "tools/ff/run.cpp": '#include "ff/run.hpp"\n#include "fireflyer/fireflyer.h"\n',
    "tools/ff/CMakeLists.txt": "add_executable(ff run.cpp)",
}


class Rules(unittest.TestCase):
    def violations(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (GOOD | changes).items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [str(violation) for violation in rules.check(root)]

    def assert_refused(self, path, text, complaint):
        found = self.violations({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(path + ":"), found[0])
        self.assertIn(complaint, found[0])

    def assert_accepted(self, path, text):
        self.assertEqual(self.violations({path: text}), [])

    def test_the_good_tree_is_accepted(self):
        self.assertEqual(self.violations({}), [])

    def test_an_include_that_points_upward(self):
        self.assert_refused("src/base/log.hpp", '#include "engine/kernel/sum.hpp"\n', "base includes src/engine")
        self.assert_refused("src/engine/kernel/sum.hpp", '\n  # include "engine/other.hpp"\n', "is not below src/")

    def test_a_part_of_a_module_may_have_its_own_stricter_row(self):
        self.assert_refused(
            "src/engine/kernel/sum.hpp", '#include "api/comm.cpp"\n', "engine/kernel includes src/api/comm.cpp"
        )

    def test_the_line_of_an_include_is_told(self):
        self.assertEqual(
            self.violations({"src/base/log.hpp": '\n\n#include "api/comm.cpp"\n'})[0],
            "src/base/log.hpp:3: base includes src/api/comm.cpp, but may include only: nothing of ours",
        )

    def test_an_include_in_a_comment_is_none(self):
        self.assert_accepted("src/base/log.hpp", '// #include "api/comm.cpp"\n/*\n#include "api/comm.cpp"\n*/\n')

    def test_a_unit_test_may_look_up(self):
        self.assertEqual(
            self.violations(
                {
                    "src/base/log_test.cpp": '#include <gtest/gtest.h>\n#include "api/comm.cpp"\n',
                    "src/base/CMakeLists.txt": "TESTS log_test.cpp",
                }
            ),
            [],
        )

    def test_tools_see_the_public_face_only(self):
        self.assert_refused("tools/ff/run.hpp", '#include "base/log.hpp"\n', "tools includes src/base/log.hpp")

    def test_low_modules_see_the_plain_types_only(self):
        self.assert_refused("src/engine/drive.cpp", '#include "fireflyer/fireflyer.h"\n', "plain types")

    def test_the_public_face_sees_only_itself(self):
        self.assert_refused("include/fireflyer/types.h", '#include "base/log.hpp"\n', "nothing of ours")
        self.assert_refused("include/fireflyer/types.h", "#include <fmt/core.h>\n", "no library")

    def test_a_relative_include(self):
        self.assert_refused("src/base/log.cpp", '#include "log.hpp"\n', "is not below src/")

    def test_ours_in_angle_brackets(self):
        self.assert_refused("src/engine/drive.cpp", "#include <fireflyer/types.h>\n", "include it with quotes")

    def test_a_library_out_of_place(self):
        self.assert_refused("src/engine/drive.cpp", "#include <openssl/hmac.h>\n", "OpenSSL")
        self.assert_refused("src/base/log.hpp", "#include <CLI/CLI.hpp>\n", "CLI11")

    def test_a_folder_without_a_row(self):
        self.assert_refused("src/utils/misc.hpp", "", "belongs to no module")

    def test_a_row_without_a_folder(self):
        self.assert_refused("ARCHITECTURE.md", TABLE + "| `gone` | x | base | none |\n", "no such folder")

    def test_a_source_that_no_list_names(self):
        self.assert_refused("src/base/og.cpp", "", "no CMakeLists.txt names it")
        self.assert_refused("src/base/blog.cpp", "", "no CMakeLists.txt names it")

    def test_the_environment(self):
        self.assert_refused("src/engine/drive.cpp", 'auto x = std::getenv("FF_X");\n', "environment")
        self.assert_accepted("src/engine/drive.cpp", '// getenv\nauto x = "getenv";\n')

    def test_standard_output_and_exit(self):
        for text in ("printf(1);", "std::puts(x);", "std::cout << 1;", "fmt::print(x);", "write(STDOUT_FILENO);"):
            self.assert_refused("src/engine/drive.cpp", text, "standard output")
        for text in ("std::exit(1);", "exit(1);"):
            self.assert_refused("src/engine/drive.cpp", text, "does not end the process")
        self.assert_refused("src/engine/drive.cpp", "std::abort();", "only FF_CHECK")
        self.assert_accepted("src/engine/drive.cpp", "fprintf(stderr, x); fmt::print(stderr, x); snprintf(b); on_exit(1);")

    def test_volatile(self):
        self.assert_refused("src/engine/drive.cpp", "volatile int flag;", "volatile orders nothing")
        self.assert_accepted("src/engine/drive.cpp", 'asm volatile("pause");')

    def test_an_access_to_an_atomic_without_its_order(self):
        declared = "std::atomic<int> flag{0};\n"
        for text in ("flag.load();", "flag.store(1);", "p->flag.fetch_add(f(1, 2));", "flag++;", "flag = 1;", "--flag;"):
            self.assert_refused("src/engine/drive.cpp", declared + text, "memory order")
        for text in (
            "flag.load(std::memory_order_acquire);",
            "flag.store(f(1),\n  std::memory_order_release);",
            "if (flag.load(std::memory_order_relaxed) == 1) {}",
            "other.flag_count = 1;",
        ):
            self.assert_accepted("src/engine/drive.cpp", declared + text)

    def test_a_table_that_names_what_it_does_not_define(self):
        with self.assertRaisesRegex(ValueError, "no row above defines"):
            self.violations({"ARCHITECTURE.md": TABLE + "| `x` | x | nowhere | none |\n"})
        with self.assertRaisesRegex(ValueError, "does not know"):
            self.violations({"ARCHITECTURE.md": TABLE + "| `x` | x | base | leftpad |\n"})
        with self.assertRaisesRegex(ValueError, "has no table"):
            self.violations({"ARCHITECTURE.md": "# nothing\n"})


class SourceText(unittest.TestCase):
    def test_positions_stay(self):
        text = 'a // b "\n"c // d" /* e\n f */ g \'"\' h R"x(i " ) // j)x" k 1\'000\n'
        code = source_text.without_comments_and_literals(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.split(), ["a", "g", "h", "k", "1'000"])

    def test_arguments_of_a_call(self):
        self.assertEqual(source_text.call_arguments("f(a, g(b), c) + d", 1), "a, g(b), c")
        self.assertIsNone(source_text.call_arguments("f(a", 1))


if __name__ == "__main__":
    unittest.main()
