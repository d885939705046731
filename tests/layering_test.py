#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules that one include root cannot make the compiler keep: which folder may include which, and sizes."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder -> folders whose headers it may include, besides its own (README, "Folders and arrows").
ARROWS = {
    "base": [],
    "workloads": ["base"],
    "schedules": ["base", "workloads"],
    "simulator": ["base", "workloads", "schedules"],
    "cpu_reference": ["base", "workloads", "schedules"],
    "gpu": ["base", "workloads", "schedules"],
    "reports": ["base", "workloads", "schedules"],
    "studies": ["base", "workloads", "schedules", "simulator", "cpu_reference", "gpu", "reports"],
    "cli": ["base", "workloads", "schedules", "simulator", "cpu_reference", "gpu", "reports", "studies"],
    "benchmarks": ["base", "workloads", "schedules", "simulator", "cpu_reference", "gpu", "reports", "studies"],
}
# Headers of these must not reach a public header, one that another folder includes, directly or not: it would need
# them too.
THIRD_PARTY = re.compile(r"#include <(nlohmann|fmt|Eigen|CLI|omp\.h|benchmark|boost)")
MAX_LINES = 400


def project_files(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp", ".cu", ".cuh"))


def headers_within(path, seen):
    """The project's headers that `path` includes, directly or not."""
    for line in re.findall(r'#include "([^"]+)"', path.read_text()):
        header = ROOT / line
        if header not in seen and header.is_file():
            seen.add(header)
            headers_within(header, seen)
    return seen


def public_headers():
    """Headers that reach a source of another folder, tests included."""
    public = set()
    for folder in [*ARROWS, "tests"]:
        for path in project_files(folder):
            public |= {h for h in headers_within(path, set()) if h.relative_to(ROOT).parts[0] != folder}
    return public


def main():
    problems = []
    public = public_headers()
    for folder, allowed in ARROWS.items():
        for path in project_files(folder):
            text = path.read_text()
            name = path.relative_to(ROOT)
            for line in re.findall(r'#include "([^"]+)"', text):
                target = line.split("/")[0]
                if target in ARROWS and target != folder and target not in allowed:
                    problems.append(f"{name} includes {line}: {folder} may not use {target}")
                elif target not in ARROWS and "/" in line:
                    problems.append(f"{name} includes {line}: not a path from the repository root")
            if path in public and folder != "cli" and THIRD_PARTY.search(text):
                problems.append(f"{name}: a third-party header in a public header")
            lines = text.count("\n")
            if lines > MAX_LINES:
                problems.append(f"{name}: {lines} lines, at most {MAX_LINES}")
            if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
                problems.append(f"{name}: no SPDX line")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
