#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/gallery is what scripts/gallery draws now of the checked-in records and the simulator.

    gallery_test.py SPLITWAVE"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir() if path.is_file()}


def different(drawn, kept):
    return sorted(name for name in drawn.keys() | kept.keys() if drawn.get(name) != kept.get(name))


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "scripts/gallery", sys.argv[1], folder], check=True)
        drawn = files(folder)
        cpu = files(pathlib.Path(folder, "cpu"))
    stale = different(drawn, files(ROOT / "docs/gallery"))
    stale += [f"../reports/cpu/figures/{name}" for name in different(cpu, files(ROOT / "docs/reports/cpu/figures"))]
    copies = {"pictures/figure_1.svg": "figure_1.svg"}
    for name in ("speed_up.svg", "predicted_measured.svg"):
        copies[f"reports/h200/figures/{name}"] = name
    stale += [f"../{copy}" for copy, name in copies.items() if (ROOT / "docs" / copy).read_bytes() != drawn[name]]
    if stale:
        sys.exit(f"docs/gallery is stale ({', '.join(stale)}); run scripts/gallery and look at what it draws")


if __name__ == "__main__":
    main()
