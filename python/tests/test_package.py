# SPDX-License-Identifier: Apache-2.0
"""What holds for the package as a whole: its stubs, and calls that neither block other threads nor Ctrl-C."""
import ast
import inspect
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import splitwave
from splitwave import _splitwave

FOLDER = pathlib.Path(splitwave.__file__).parent


def names_of(body):
    for node in body:
        if isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def test_the_stub_names_what_the_extension_has():
    stub = ast.parse((FOLDER / "_splitwave.pyi").read_text())
    assert set(names_of(stub.body)) == {name for name in vars(_splitwave) if not name.startswith("__")}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            members = set(names_of(node.body)) - {"__init__"}
            assert members == {name for name in vars(getattr(_splitwave, node.name)) if not name.startswith("_")}


def test_the_package_is_typed_and_exports_what_it_says():
    assert (FOLDER / "py.typed").exists()
    assert all(hasattr(splitwave, name) for name in splitwave.__all__)
    exported = {name: getattr(splitwave, name) for name in splitwave.__all__}
    undocumented = [n for n, thing in exported.items() if inspect.isroutine(thing) or inspect.isclass(thing)
                    if not thing.__doc__]  # fmt: skip
    assert undocumented == []


LONG_CALLS = [
    "splitwave.sweep('llama-3-8b:8q1s32k', {'context': '1k:200k', 'sms': '100:120'}, schedule='auto', threads=2)",
    "splitwave.advise('llama-3-8b', batch='1:256', context='1k:1300', threads=2)",
    "splitwave.simulate([f'llama-3-8b:{n}q1s32k' for n in range(1, 200)] * 500, threads=1)",
]


@pytest.mark.parametrize("call", LONG_CALLS)
def test_ctrl_c_ends_a_long_call(call):
    code = f"import splitwave\nprint('begun', flush=True)\n{call}\nprint('finished')"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert output == b""
    assert errors.strip().endswith(b"KeyboardInterrupt")


def test_a_long_call_lets_other_threads_run():
    ended = threading.Event()

    def work():
        splitwave.advise("llama-3-8b", batch="1:32", context="1k..64kx2", threads=1)
        ended.set()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=work)
    thread.start()
    steps = 0
    while not ended.is_set():
        steps += 1
    thread.join()
    sys.setswitchinterval(before)
    assert steps > 1000
