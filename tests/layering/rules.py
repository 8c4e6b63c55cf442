"""The rules that a compiler does not check. Each takes a Tree and yields Violations.

The table of modules in ARCHITECTURE.md is the only place that says who may include whom: it is read
from there, so that the page and the test cannot disagree.
"""

import dataclasses
import functools
import pathlib
import re

import source_text

CODE = (".h", ".hpp", ".c", ".cpp")
TOP = ("include", "src", "tools", "examples", "benchmarks", "tests")

# How an #include <...> tells which library it comes from. Others are the system's.
LIBRARIES = {
    "fmt": r"fmt/",
    "nlohmann-json": r"nlohmann/",
    "CLI11": r"CLI/",
    "OpenSSL": r"openssl/",
    "Eigen": r"(Eigen|unsupported)/",
    "zlib": r"zlib\.h",
    "hwloc": r"hwloc",
    "GoogleTest": r"(gtest|gmock)/",
    "MPI": r"mpi\.h",
    "Gloo": r"gloo/",
    "oneCCL": r"oneapi/",
    "libfabric": r"rdma/",
    "CUDA": r"(cuda|nvml|gdrapi)",
    "PyTorch": r"(torch|ATen|c10)/",
}


@dataclasses.dataclass(frozen=True)
class Violation:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


@dataclasses.dataclass(frozen=True)
class Module:
    name: str
    may_include: frozenset
    libraries: frozenset


class Tree:
    """The source tree under `root`; paths are relative to it, with forward slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    @functools.cached_property
    def files(self):
        found = []
        for top in TOP:
            for path in (self.root / top).rglob("*"):
                if path.suffix in CODE and path.is_file():
                    found.append(path.relative_to(self.root).as_posix())
        return sorted(found)

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        return source_text.without_comments_and_literals(self.text(path))

    @functools.cached_property
    def modules(self):
        return read_table((self.root / "ARCHITECTURE.md").read_text(encoding="utf-8"))

    def module_of(self, path):
        """The module with the longest name that is a folder above `path`; None outside all."""
        name = path.removeprefix("src/")
        above = [m for m in self.modules.values() if name.startswith(m.name + "/")]
        return max(above, key=lambda m: len(m.name), default=None)


def read_table(page):
    """The rows under the heading `module | what it is | may include | libraries`."""
    modules = {}
    rows = iter(page.splitlines())
    for row in rows:
        if re.match(r"\|\s*module\s*\|.*\|\s*may include\s*\|\s*libraries\s*\|", row):
            break
    else:
        raise ValueError("ARCHITECTURE.md has no table 'module | ... | may include | libraries'")
    next(rows)  # the line under the heading
    for row in rows:
        if not row.startswith("|"):
            break
        name, _, may_include, libraries = (cell.strip() for cell in row.strip("|").split("|"))
        name = name.strip("`")
        if may_include == "every module above":
            allowed = {m for m in modules if m != "include/fireflyer"}
        elif may_include in ("nothing of ours", "`include/fireflyer`"):
            allowed = set()
        else:
            allowed = {word.strip(" `") for word in may_include.split(",")}
            unknown = allowed - modules.keys()
            if unknown:
                raise ValueError(f"row '{name}' may include {sorted(unknown)}, which no row above defines")
        unknown = split_libraries(libraries) - LIBRARIES.keys()
        if unknown:
            raise ValueError(f"row '{name}' names libraries {sorted(unknown)} that rules.py does not know")
        modules[name] = Module(name, frozenset(allowed), frozenset(split_libraries(libraries)))
    return modules


def split_libraries(cell):
    return {word.strip() for word in cell.split(",") if word.strip() not in ("", "none")}


def includes(tree, path):
    """(line, name, quoted) of each #include; comments do not count."""
    code = source_text.without_comments(tree.text(path))
    for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', code, re.M):
        yield source_text.line_of(code, m.start()), m.group(1) or m.group(2), m.group(1) is not None


def is_test(path):
    """Tests may look at everything: a verifier is tested with algorithms, which stand above it."""
    return path.startswith("tests/") or path.endswith("_test.cpp")


def check_modules(tree):
    """Every folder with code is in the table, and every row is a folder."""
    for path in tree.files:
        if not path.startswith("tests/") and tree.module_of(path) is None:
            yield Violation(path, 1, "belongs to no module of ARCHITECTURE.md's table")
    for name in tree.modules:
        if not any((tree.root / base / name).is_dir() for base in ("", "src")):
            yield Violation("ARCHITECTURE.md", 1, f"the table has a row '{name}', and there is no such folder")


def check_includes(tree):
    """Includes of ours go where the table allows, from the source root, and exist."""
    for path in tree.files:
        module = tree.module_of(path)
        for line, name, quoted in includes(tree, path):
            if not quoted:
                if name.startswith("fireflyer/") and path.startswith(("src/", "include/")):
                    yield Violation(path, line, f"<{name}> is ours: include it with quotes")
                continue
            beside = (pathlib.PurePosixPath(path).parent / name).as_posix()
            if path.startswith("tests/") and (tree.root / beside).exists():
                continue
            found = next(
                (base + name for base in ("include/", "src/", module_root(module, path)) if (tree.root / (base + name)).is_file()),
                None,
            )
            if found is None:
                yield Violation(path, line, f'"{name}" is not below src/, include/ or the root of its module')
            elif not is_test(path) and module is not None:
                yield from check_edge(tree, path, line, module, found)


def module_root(module, path):
    """tools and benchmarks include their own files from their own root; an example, which must also
    build outside this tree, from its own folder."""
    if module and module.name == "examples":
        return "/".join(path.split("/")[:2]) + "/"
    return f"{module.name}/" if module and module.name in ("tools", "benchmarks") else "src/"


def check_edge(tree, path, line, module, found):
    target = tree.module_of(found)
    if target is None or target == module:
        return
    if target.name == "include/fireflyer":
        plain = found.endswith("/types.h") or module.name in ("api", "tools", "examples", "benchmarks")
        if not plain:
            yield Violation(path, line, f"{module.name} may use the plain types of include/fireflyer, not {found}")
        return
    if target.name not in module.may_include:
        allowed = ", ".join(sorted(module.may_include)) or "nothing of ours"
        yield Violation(path, line, f"{module.name} includes {found}, but may include only: {allowed}")


def check_libraries(tree):
    """Headers of other people's libraries appear only where the table says."""
    for path in tree.files:
        module = tree.module_of(path)
        for line, name, quoted in includes(tree, path):
            library = next((l for l, shape in LIBRARIES.items() if re.match(shape, name)), None)
            if quoted or library is None or is_test(path) or module is None:
                continue
            if library not in module.libraries:
                allowed = ", ".join(sorted(module.libraries)) or "no library"
                yield Violation(path, line, f"{module.name} includes <{name}> of {library}, but may use only: {allowed}")


def check_listed(tree):
    """Each source is named by a CMakeLists.txt in its folder or above: nothing lies around unbuilt."""
    for path in tree.files:
        if not path.endswith((".c", ".cpp")) or "/fixtures/" in path:
            continue
        source = pathlib.PurePosixPath(path)
        for folder in source.parents:
            lists = tree.root / folder / "CMakeLists.txt"
            name = re.escape(source.relative_to(folder).as_posix())
            stem = re.escape(source.relative_to(folder).with_suffix("").as_posix())
            if lists.is_file() and re.search(
                rf"(?<![\w/]){name}(?![\w.])|ff_\w+\({stem}(?![\w.])", lists.read_text(encoding="utf-8")
            ):
                break
        else:
            yield Violation(path, 1, "no CMakeLists.txt names it")


def library_code(tree):
    return [path for path in tree.files if path.startswith(("src/", "include/")) and not is_test(path)]


def search(tree, paths, shape, text):
    for path in paths:
        code = tree.code(path)
        for m in re.finditer(shape, code):
            yield Violation(path, source_text.line_of(code, m.start()), text)


def check_environment(tree):
    """One file reads the environment."""
    paths = [p for p in library_code(tree) if p != "src/base/environment.cpp"]
    yield from search(tree, paths, r"\b(secure_)?getenv\b|\benviron\b", "only src/base/environment.cpp reads the environment")


def check_stdout(tree):
    """The library does not write to stdout and does not exit; check.cpp alone may abort."""
    paths = library_code(tree)
    stdout = r"\bstdout\b|\bSTDOUT_FILENO\b|\bcout\b|(?<![\w:.>])(?:std::)?(?:printf|puts|putchar)\s*\(|\bfmt::print\s*\((?!\s*stderr\b)"
    yield from search(tree, paths, stdout, "the library does not write to standard output")
    exits = r"(?<![\w.>])(?:std::|::)?(?:exit|quick_exit|_Exit)\s*\("
    yield from search(tree, paths, exits, "the library does not end the process: return a Status")
    aborts = r"(?<![\w.>])(?:std::|::)(?:abort|terminate)\s*\("
    ours = [p for p in paths if p.startswith("src/") and p != "src/base/check.cpp"]
    yield from search(tree, ours, aborts, "only FF_CHECK stops the process")


def check_volatile(tree):
    """Flags that threads or processes share are atomics: volatile orders nothing."""
    not_assembly = r"(?<!asm )(?<!asm__ )\bvolatile\b"
    yield from search(
        tree, library_code(tree), not_assembly, "volatile orders nothing between threads: use std::atomic"
    )


ATOMIC_CALL = re.compile(
    r"(?<=[.>])(load|store|exchange|compare_exchange_(?:weak|strong)|fetch_(?:add|sub|and|or|xor)|test_and_set)\s*\("
)
ATOMIC_NAME = re.compile(r"\b(?:std::atomic(?:_ref)?\s*<[^;{}()]*?>|std::atomic_\w+)\s+(\w+)\s*[;{=]")


def check_atomics(tree):
    """Every access to an atomic states its ordering, operators included: the default hides the thought."""
    for path in library_code(tree):
        code = tree.code(path)
        if not re.search(r"\batomic", code):
            continue
        for m in ATOMIC_CALL.finditer(code):
            arguments = source_text.call_arguments(code, m.end() - 1)
            # `order`: an ordering that is passed on.
            if arguments is not None and not re.search(r"memory_order|\border", arguments):
                yield Violation(
                    path, source_text.line_of(code, m.start()), f"{m.group(1)}() does not state its memory order"
                )
        for name in sorted(set(ATOMIC_NAME.findall(code))):
            operators = rf"(?<![\w.>]){name}\s*(?:=(?!=)|\+\+|--|[-+|&^]=)|(?:\+\+|--)\s*{name}\b"
            declared = {m.start(1) for m in ATOMIC_NAME.finditer(code)}
            for m in re.finditer(operators, code):
                if m.start() not in declared:
                    yield Violation(
                        path,
                        source_text.line_of(code, m.start()),
                        f"an operator on the atomic {name} does not state its memory order",
                    )


RULES = (
    check_modules,
    check_includes,
    check_libraries,
    check_listed,
    check_environment,
    check_stdout,
    check_volatile,
    check_atomics,
)


def check(root):
    tree = Tree(root)
    return [violation for rule in RULES for violation in rule(tree)]
