#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/gallery is what scripts/gallery draws now of the checked-in records and the simulator.

    gallery_test.py SPLITWAVE"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "scripts/gallery", sys.argv[1], folder], check=True)
        drawn = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
    kept = {path.name: path.read_bytes() for path in (ROOT / "docs/gallery").iterdir()}
    stale = sorted(name for name in drawn.keys() | kept.keys() if drawn.get(name) != kept.get(name))
    if (ROOT / "docs/pictures/figure_1.svg").read_bytes() != drawn["figure_1.svg"]:
        stale.append("../pictures/figure_1.svg")
    if stale:
        sys.exit(f"docs/gallery is stale ({', '.join(stale)}); run scripts/gallery and look at what it draws")


if __name__ == "__main__":
    main()
