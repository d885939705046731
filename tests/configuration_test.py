#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people configure with is taken as they mean it, or refused by one line that says what is allowed.

  tests/configuration_test.py CMAKE
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = f"""
set(CMAKE_MODULE_PATH "{ROOT}/cmake")
include(Choice)
include(Cuda)
splitwave_check_architectures()
message("SPLITWAVE_CUDA is ${{SPLITWAVE_CUDA}}")
"""
CHOICES = {"AUTO": "AUTO", "auto": "AUTO", "ON": "ON", "On": "ON", "TRUE": "ON", "yes": "ON", "1": "ON",
           "OFF": "OFF", "off": "OFF", "False": "OFF", "NO": "OFF", "0": "OFF"}
NO_CHOICES = ["", "onn", "2", "automatic"]
ARCHITECTURES = ["", "80", "90a", "80;90a", "90a-real", "100", "OFF"]
NO_ARCHITECTURES = ["90", "90-real", "90-virtual", "80;90", "80;90-real", "native", "all", "all-major"]


def answer(cmake, script, setting):
    """What the settings' files say, in one line."""
    done = subprocess.run([cmake, f"-D{setting}", "-P", script], capture_output=True, text=True, check=False)
    return " ".join(done.stderr.split())


def problems(cmake, script):
    expected = {f"SPLITWAVE_CUDA={given}": f"SPLITWAVE_CUDA is {meant}" for given, meant in CHOICES.items()}
    expected |= {f"SPLITWAVE_CUDA={given}": f'SPLITWAVE_CUDA is "{given}"; allowed: AUTO, ON, OFF' for given in NO_CHOICES}
    expected |= {f"CMAKE_CUDA_ARCHITECTURES={given}": "SPLITWAVE_CUDA is AUTO" for given in ARCHITECTURES}
    expected |= {f"CMAKE_CUDA_ARCHITECTURES={given}": f'CMAKE_CUDA_ARCHITECTURES is "{given}"; allowed: numbers, with 90a'
                 for given in NO_ARCHITECTURES}
    for setting, message in expected.items():
        said = answer(cmake, script, setting)
        if message not in said:
            yield f"{setting}: {said}; expected: {message}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "configure.cmake"
        script.write_text(SCRIPT)
        found = list(problems(sys.argv[1], script))
    print("\n".join(found) or "every setting is taken or refused as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
