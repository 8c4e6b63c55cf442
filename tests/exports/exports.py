"""Compares three lists of names that must be one: the symbols that libfireflyer.so exports, the list in
src/api/exports.txt, and the functions that fireflyer.h declares.

    exports.py LIBRARY EXPORTS HEADER
"""

import pathlib
import re
import subprocess
import sys


def exported_symbols(library):
    lines = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", library], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    symbols = (line.split() for line in lines)
    # Absolute ones are the names of symbol versions.
    return {symbol[0].split("@")[0] for symbol in symbols if symbol[1] != "A"}


def soname(library):
    text = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\(SONAME\).*\[(.*)\]", text)
    return found and found.group(1)


def declared_functions(header):
    comments_and_macros = r"/\*(?:.|\n)*?\*/|^[ \t]*#(?:\\\n|.)*$"
    code = re.sub(comments_and_macros, "", pathlib.Path(header).read_text(), flags=re.M)
    return set(re.findall(r"\bFF_(?:CALL|API)\b[^;(]*?\b(ff_\w+)\s*\(", code))


def difference(name, names, expected):
    for extra in sorted(names - expected):
        yield f"{name} has {extra}, which src/api/exports.txt does not list"
    for lost in sorted(expected - names):
        yield f"src/api/exports.txt lists {lost}, which {name} has not"


def main():
    library, exports, header = sys.argv[1:]
    lines = pathlib.Path(exports).read_text().split()
    complaints = list(difference(library, exported_symbols(library), set(lines)))
    complaints += difference(header, declared_functions(header), set(lines))
    if lines != sorted(set(lines)) or not lines:
        complaints.append(f"{exports} must be sorted, without doubles, and not empty")
    if soname(library) != "libfireflyer.so.0":
        complaints.append(f"{library} has the SONAME {soname(library)}, not libfireflyer.so.0")
    print("\n".join(complaints) or f"{len(lines)} symbols, as listed and declared")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
