"""Holds a source tree against the rules of rules.py: layering.py ROOT"""

import sys

import rules


def main():
    violations = rules.check(sys.argv[1])
    for violation in violations:
        print(violation)
    tree = rules.Tree(sys.argv[1])
    if not tree.files:
        print(f"{sys.argv[1]} holds no source file")
        return 1
    print(f"{len(tree.files)} files, {len(tree.modules)} modules, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
