# SPDX-License-Identifier: Apache-2.0
"""The Python in the documents runs as it stands there."""
import pathlib
import re

import numpy as np
import pytest
from arrays import attention, normal

import splitwave

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def blocks(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    found = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def test_" not in block]
    return [block for block in found if name != "README.md" or "splitwave" in block]


@pytest.mark.parametrize("name, least", [("docs/python.md", 5), ("README.md", 1)])
def test_every_block_runs(name, least, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    q, k, v = (normal(shape, 4, np.float16) for shape in ((2, 1, 8, 64), (2, 200, 2, 64), (2, 200, 2, 64)))
    for array, values in {"q": q, "k": k, "v": v, "out": attention(q, k, v)[0].astype(np.float16)}.items():
        np.save(tmp_path / f"{array}.npy", values)
    namespace = {}
    assert len(blocks(name)) >= least
    for block in blocks(name):
        exec(compile(block, name, "exec"), namespace)  # noqa: S102: the documents are the project's own
    assert "output: PASS" in capsys.readouterr().out


def test_the_functions_of_the_table_exist():
    table = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for cell in table for name in re.findall(r"`(\w+)[(`]", cell)]
    assert len(names) >= 15
    assert [name for name in names if not hasattr(splitwave, name)] == []
