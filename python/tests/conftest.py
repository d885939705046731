# SPDX-License-Identifier: Apache-2.0
"""The command beside the module, built from the same libraries (python/tests/CMakeLists.txt says where it is)."""
import json
import os
import subprocess

import pytest


class Command:
    """Runs the splitwave binary."""

    def __init__(self, binary):
        self.binary = binary

    def run(self, *arguments):
        return subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=False)

    def lines(self, *arguments):
        """What it prints, as JSON by line."""
        run = self.run(*arguments)
        assert run.returncode == 0, run
        return [json.loads(line) for line in run.stdout.splitlines()]

    def refusal(self, *arguments):
        """Its one line about bad input, without its name and the hint at its help."""
        run = self.run(*arguments)
        assert run.returncode == 2, run
        (line,) = run.stderr.splitlines()
        return line.removeprefix("splitwave: ").split(" (splitwave ")[0]


@pytest.fixture(scope="session")
def command():
    return Command(os.environ["SPLITWAVE_BINARY"])
