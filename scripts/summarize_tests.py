"""Adds up ctest's JUnit reports and prints the verdict: the last line is 'N passed, N failed, N skipped'.

Fails if a test failed, a stage failed, a report is missing or no test ran; and, with CI=true, if a
test was skipped for the lack of a tool or a privilege: its reason must then start with 'needs hardware:'
or 'needs surroundings:' (what a container or a folder is like).
"""

import argparse
import os
import re
import sys
import xml.etree.ElementTree as xml

NOT_OURS_TO_MEND = re.compile(r"needs (hardware|surroundings):")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failed-stages", default="", help="names, separated by spaces")
    parser.add_argument("reports", nargs="*")
    arguments = parser.parse_args()
    strict = os.environ.get("CI") == "true"

    passed = skipped = 0
    complaints = [f"stage '{stage}' failed" for stage in arguments.failed_stages.split()]
    failed = 0
    for report in arguments.reports:
        folder = os.path.dirname(report)
        if not os.path.exists(report):
            failed += 1
            complaints.append(f"{folder}: no test ran")
            continue
        for case in xml.parse(report).getroot().iter("testcase"):
            name = f"{folder}: {case.get('name')}"
            output = case.findtext("system-out") or ""
            if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                reason = " ".join(output.split()[-30:])
                if strict and not NOT_OURS_TO_MEND.search(output):
                    failed += 1
                    complaints.append(f"{name} was skipped, which CI=true forbids: {reason}")
                else:
                    skipped += 1
                    print(f"skipped: {name}: {reason}")
            elif case.find("failure") is not None or case.get("status") == "fail":
                failed += 1
                complaints.append(f"{name} failed")
            else:
                passed += 1

    failed = max(failed, len(arguments.failed_stages.split()))
    for complaint in complaints:
        print(complaint)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
