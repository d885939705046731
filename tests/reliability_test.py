#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reliability.md names tests that exist, and a test in every row but those that say why there is none."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WITHOUT_A_TEST = ["| 38 |", "| 44 |"]


def tests():
    """Suite.Name of every test in the sources, whatever fixture or property it is."""
    found = set()
    for path in (ROOT / "tests").rglob("*_test.cpp"):
        for suite, name in re.findall(r"^(?:TEST(?:_F|_P)?|RC_GTEST_PROP)\((\w+),\s*(\w+)", path.read_text(), re.MULTILINE):
            found.add(f"{suite}.{name}")
    return found


def problems():
    known = tests()
    for line in (ROOT / "docs/reliability.md").read_text().splitlines():
        if not line.startswith("| ") or line.startswith("| fed") or line.startswith("| | fed"):
            continue
        kept_by = re.split(r"(?<!\\)\|", line)[-2]
        named = re.findall(r"`(\w+\.\w+)`", kept_by)
        yield from (f"{name} is no test: {line[:60]}" for name in named if name not in known)
        if not named and not line.startswith(tuple(WITHOUT_A_TEST)):
            yield f"no test: {line[:60]}"


found_problems = list(problems())
print("\n".join(found_problems))
sys.exit(1 if found_problems else 0)
