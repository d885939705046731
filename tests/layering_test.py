#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules that one include root cannot make the compiler keep: which folder may include which of the project's
folders and which third-party headers, what users' headers may include, and sizes."""
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
    "studies": ["base", "workloads", "schedules", "simulator", "cpu_reference", "reports"],
    "cli": ["base", "workloads", "schedules", "simulator", "cpu_reference", "reports", "studies"],
    "explorer": ["base", "workloads", "schedules", "simulator", "cpu_reference", "reports", "studies"],
    "python": ["base", "workloads", "schedules", "simulator", "cpu_reference", "reports", "studies"],
    "benchmarks": ["base", "workloads", "schedules", "simulator", "cpu_reference", "gpu", "reports", "studies"],
}
# No library that is built without CUDA needs gpu/, but: the sources of studies/ that run on a device are a library of
# their own, and the command line catches the device's errors, whose header needs nothing.
MORE_ARROWS = {
    "studies/calibrate_cuda.cpp": ["gpu"],
    "studies/calibrate_memory.cpp": ["gpu"],
    "studies/calibrate_memory.h": ["gpu"],
    "studies/calibrate_power.cpp": ["gpu"],
    "studies/calibrate_power.h": ["gpu"],
    "studies/calibration_work.h": ["gpu"],
    "studies/edge_constants.cpp": ["gpu"],
    "studies/full_sms.cpp": ["gpu"],
    "studies/kernel_constants.cpp": ["gpu"],
    "studies/kernel_constants.h": ["gpu"],
    "studies/kernel_points.cpp": ["gpu"],
    "studies/kernel_points.h": ["gpu"],
    "studies/measure_cuda.cpp": ["gpu"],
    "studies/probed_configs.cpp": ["gpu"],
    "cli/program.cpp": ["gpu"],
}
# Folders that hold sources and have no arrows: tests use everything.
FREE_FOLDERS = ["cmake", "tests"]
NO_SOURCES = ["build", "out"]

# Third-party header -> the folders that may include it. Others, of the C and C++ libraries, are free. Tests may include
# any of them: their programs, such as tests/gpu/bench_decode.cpp, read command lines with CLI11 too.
THIRD_PARTY = {
    "CLI/": ["cli"],
    "Eigen/": ["cpu_reference", "studies"],
    "benchmark/": ["benchmarks"],
    "boost/": [],
    "cuda": ["gpu"],
    "dlpack/": ["python"],
    "emscripten/": ["explorer"],
    "fmt/": list(ARROWS),
    "gtest/": [],
    "mpi.h": ["studies"],
    "nlohmann/": list(ARROWS),
    "omp.h": ["base"],
    "pybind11/": ["python"],
    "rapidcheck": [],
    "valijson/": [],
}
SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
MAX_LINES = 400


def project_files(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES)


def includes(path):
    """The project's headers that a file names."""
    return re.findall(r'#include "([^"]+)"', path.read_text())


def third_party(path):
    """The third-party headers that a file names."""
    return [h for h in re.findall(r"#include <([^>]+)>", path.read_text()) if h.startswith(tuple(THIRD_PARTY))]


def headers_within(path, seen):
    """The project's headers that `path` includes, directly or not."""
    for line in includes(path):
        header = ROOT / line
        if header not in seen and header.is_file():
            seen.add(header)
            headers_within(header, seen)
    return seen


def shared_headers():
    """Headers that reach a source of another folder, tests included: a third-party header there would be needed too."""
    shared = {ROOT / "splitwave.h"}
    for folder in [*ARROWS, "tests"]:
        for path in project_files(folder):
            shared |= {h for h in headers_within(path, set()) if h.relative_to(ROOT).parts[0] != folder}
    return {h for h in shared if h.relative_to(ROOT).parts[0] != "cli"}


def installed_headers():
    """Headers that the folders' CMakeLists.txt list for users."""
    installed = set()
    for folder in ARROWS:
        text = (ROOT / folder / "CMakeLists.txt").read_text()
        for names in re.findall(r"^ +HEADERS\s+((?:\S+\.h\"?\s+)+)", text, re.MULTILINE):
            for name in names.replace('"', "").split():
                path = name.replace("${PROJECT_SOURCE_DIR}", str(ROOT))
                installed.add(ROOT / folder / path)
    return installed


def check_folders():
    """A folder that holds sources has its place among the arrows."""
    for entry in sorted(ROOT.iterdir()):
        if not entry.is_dir() or entry.name.startswith(".") or entry.name in [*ARROWS, *FREE_FOLDERS, *NO_SOURCES]:
            continue
        if any(project_files(entry.name)):
            yield f"{entry.name}: a folder with sources and no place among the arrows"


def check_includes(folder, path):
    name = str(path.relative_to(ROOT))
    allowed = [folder, *ARROWS[folder], *MORE_ARROWS.get(name, [])]
    for line in includes(path):
        target = line.split("/")[0]
        if target in ARROWS and target not in allowed:
            yield f"{name} includes {line}: {folder} may not use {target}"
        elif target not in ARROWS and "/" in line:
            yield f"{name} includes {line}: not a path from the repository root"
    for header in third_party(path):
        folders = next(folders for start, folders in THIRD_PARTY.items() if header.startswith(start))
        if folder not in folders:
            yield f"{name} includes <{header}>: {folder} may not use it"


def check_file(path):
    name, text = path.relative_to(ROOT), path.read_text()
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{name}: {lines} lines, at most {MAX_LINES}"
    if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
        yield f"{name}: no SPDX line"


def check_shared(path):
    for header in third_party(path):
        yield f"{path.relative_to(ROOT)} includes <{header}>, and other folders or users include it"


def check_installed(installed):
    if not installed:
        yield "no CMakeLists.txt lists HEADERS"
    for path in sorted(installed):
        if not path.is_file():
            yield f"{path.relative_to(ROOT)} is listed as a header and is not there"
            continue
        for header in sorted(headers_within(path, set()) - installed):
            yield f"{path.relative_to(ROOT)} is installed and needs {header.relative_to(ROOT)}, which is not"


def main():
    problems = list(check_folders())
    for folder in ARROWS:
        for path in project_files(folder):
            problems += [*check_includes(folder, path), *check_file(path)]
    installed = installed_headers()
    problems += check_installed(installed)
    for path in sorted(shared_headers() | {h for h in installed if h.is_file()}):
        problems += check_shared(path)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
