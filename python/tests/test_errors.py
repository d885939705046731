# SPDX-License-Identifier: Apache-2.0
"""Bad input is a ValueError with the line that the command prints."""
import json
import subprocess
import sys

import pytest

import splitwave
from splitwave import Geometry, Request, Workload

SPEC = "llama-3-8b:1q1s8k"

REFUSED = [
    (["simulate", "-w", "llama-3-8x:1q1s8k"], lambda: splitwave.simulate("llama-3-8x:1q1s8k")),
    (["simulate", "-w", "llama-3-8b"], lambda: splitwave.simulate("llama-3-8b")),
    (["simulate", "-w", "no\u202esuch\x1b[2J.json"], lambda: splitwave.simulate("no\u202esuch\x1b[2J.json")),
    (["simulate", "-w", SPEC, "--gpu", "h300"], lambda: splitwave.simulate(SPEC, "h300")),
    (["simulate", "-w", SPEC, "--schedule", "fa9"], lambda: splitwave.simulate(SPEC, schedule="fa9")),
    (["simulate", "-w", SPEC, "--kernel", "none"], lambda: splitwave.simulate(SPEC, kernel="none")),
    (["simulate", "-w", SPEC, "--gpu", "a100", "--schedule", "fa3"], lambda: splitwave.simulate(SPEC, "a100", "fa3")),
    (["plan", "-w", SPEC, "--schedule", "fixed-split:0"], lambda: splitwave.plan(SPEC, schedule="fixed-split:0")),
    (["advise", "--model", "llama"], lambda: splitwave.advise("llama")),
    (["advise", "--model", "llama-3-8b", "--batch", "4:1"], lambda: splitwave.advise("llama-3-8b", batch="4:1")),
    (
        ["advise", "--model", "llama-3-8b", "--available", "fa9"],
        lambda: splitwave.advise("llama-3-8b", available="fa9"),
    ),
    (
        ["sweep", "-w", SPEC, "--out", "never-made", "--axis", "smms=1,2"],
        lambda: splitwave.sweep(SPEC, {"smms": [1, 2]}),
    ),
    (
        ["sweep", "-w", SPEC, "--out", "never-made", "--axis", "sms=0"],
        lambda: splitwave.sweep(SPEC, {"sms": 0}),
    ),
]  # fmt: skip


@pytest.mark.parametrize("words, call", REFUSED, ids=[ascii(" ".join(words)) for words, _ in REFUSED])
def test_the_line_is_the_commands(command, words, call):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == command.refusal(*words)


#: Options of the command and arguments of the same meaning: one name is written otherwise, the rest of the line is not.
OPTIONS = [("sms", 0), ("sms", 65537), ("sms", 1.5), ("sms", 2**70), ("sms", "x"), ("bandwidth", -1),
           ("bandwidth", "nan"), ("clock", 1e9), ("ctas_per_sm", 65), ("threads", 0), ("threads", 1025)]  # fmt: skip


@pytest.mark.parametrize("name, value", OPTIONS)
def test_arguments_are_checked_as_options_are(command, name, value):
    with pytest.raises(ValueError) as error:
        splitwave.simulate(SPEC, **{name: value})
    option = "--" + name.replace("_", "-")
    words = f"{value:g}" if value == 1e9 else str(value)
    expected = command.refusal("simulate", "-w", SPEC, option, words)
    assert str(error.value).replace(str(value), words) == expected.removeprefix("--").replace("-per-", "_per_")


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "x"])
def test_seeds(command, seed):
    with pytest.raises(ValueError) as error:
        splitwave.load(SPEC, seed=seed)
    assert "--" + str(error.value) == command.refusal("simulate", "-w", SPEC, f"--seed={seed}")


def test_a_bool_is_no_integer():
    with pytest.raises(ValueError, match="sms: True is not allowed"):
        splitwave.simulate(SPEC, sms=True)


def test_a_workload_names_the_key():
    bad = Workload("w", Geometry(32, 7, 128), [Request(100)])
    with pytest.raises(ValueError) as error:
        splitwave.load(bad)
    assert str(error.value) == "workload: geometry.kv_heads is 7; allowed: divisors of query_heads (32)"
    with pytest.raises(ValueError, match="context_len"):
        splitwave.load(Workload("w", Geometry(32, 8, 128), [Request(-1)]))
    with pytest.raises(ValueError, match="layers"):
        splitwave.load({"format": 1, "name": "w", "layers": 3})
    with pytest.raises(ValueError, match="no valid JSON at byte 14"):
        splitwave.load('{"format": 1,')


def test_measuring_the_cpu_needs_the_cpu():
    with pytest.raises(ValueError, match="measure_cpu: this computer's CPU is not among the machines"):
        splitwave.simulate(SPEC, "h200", measure_cpu=True)


def test_one_machine_for_advice():
    with pytest.raises(ValueError, match="2 machines are given; allowed: one"):
        splitwave.advise("llama-3-8b", "h200,a100")


def test_a_sweep_too_large_for_memory_is_refused_before_it_begins():
    with pytest.raises(ValueError, match="allowed: at most 5000000 in memory"):
        splitwave.sweep(SPEC, {"context": "1:100000", "sms": "1:1000"})


def test_nothing_is_printed_and_no_process_ends():
    code = (
        "import splitwave\n"
        "for bad in ['x', 'llama-3-8b:0q1', 'h=0,d=1:1q1s1']:\n"
        "    try: splitwave.simulate(bad)\n"
        "    except ValueError as error: assert '\\n' not in str(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_json_of_a_dict_that_is_none():
    with pytest.raises((TypeError, ValueError)):
        splitwave.load({"format": object()})
    assert json.dumps(splitwave.load(SPEC)[0].to_dict())
