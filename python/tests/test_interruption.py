# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends the work inside one call."""
import signal
import subprocess
import sys

CALL = """
import splitwave
requests = [{"context_len": 1000 + i % 7919} for i in range(60000)]
workload = {"format": 1, "name": "many", "model": "llama-3-8b", "requests": requests}
splitwave.simulate("llama-3-8b:1q1s8k")  # loads what is loaded once
print("ready", flush=True)
for _ in range(1000):
    splitwave.simulate(workload, schedule="fixed-split:16")
"""


def test_ctrl_c_is_a_keyboard_interrupt():
    with subprocess.Popen([sys.executable, "-c", CALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        for wait in (0.3, 60):
            try:
                run.wait(wait)
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGINT)
        assert run.stderr.read().rstrip().endswith("KeyboardInterrupt")
        assert run.returncode in (1, 130, -signal.SIGINT)
