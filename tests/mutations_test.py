#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fault of tests/mutations.json can be planted: the text that it replaces stands once in its file. scripts/mutate
plants them."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
problems = []
for mutation in json.loads((ROOT / "tests/mutations.json").read_text()):
    count = (ROOT / mutation["file"]).read_text().count(mutation["before"])
    if count != 1:
        problems.append(f"{mutation['file']} holds this {count} times: {mutation['before'].strip()}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
