# SPDX-License-Identifier: Apache-2.0
import threading

import numpy as np
import pytest

import splitwave


def test_the_count_is_the_fastest_of_all():
    counts = splitwave.SplitCounts("llama-3-8b", gpu="h100-sxm")
    best = counts.best([8192, 500, 500])
    times = {
        n: splitwave.simulate("llama-3-8b:1q1s8k_2q1s500", "h100-sxm", f"fa3:{n}")[0]["seconds"] for n in range(1, 65)
    }
    assert best.schedule == f"fa3:{best.num_splits}"
    assert best.seconds == min(times.values()) == times[best.num_splits]


def test_it_agrees_with_advise():
    points = splitwave.advise("llama-3-8b", batch=[1, 8], context=[2048, 65536], available="fa2,fa3")["points"]
    for library in ("fa3", "fixed-split"):
        counts = splitwave.SplitCounts("llama-3-8b", library=library)
        for point in points:
            best = counts.best([point["context"]] * point["batch"])
            assert best._asdict() == point["splits"][library]


def test_a_decode_loop_seldom_searches():
    counts = splitwave.SplitCounts("llama-3-8b@tp=8,page=16", gpu="h100-sxm", max_splits=4)
    contexts = np.array([20, 300, 4000, 9000])
    answers = set()
    for _ in range(500):
        contexts += 1
        answers.add(counts(contexts))
    assert answers <= {1, 2, 3, 4}
    assert 1 <= counts.searches < 10


def test_a_workload_gives_the_geometry():
    workload = splitwave.Workload.from_spec("llama-3-8b,page=16:3q1s1k")
    by_spec = splitwave.SplitCounts("llama-3-8b,page=16").best([5000, 70])
    assert splitwave.SplitCounts(workload).best([5000, 70]) == by_spec


def test_threads_may_share_one():
    counts = splitwave.SplitCounts("llama-3-8b")
    expected = {n: splitwave.SplitCounts("llama-3-8b")([n] * 4) for n in range(512, 65536, 4096)}
    wrong = []

    def ask():
        for n, answer in expected.items():
            if counts([n] * 4) != answer:
                wrong.append(n)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: splitwave.SplitCounts("llama-3-8x"), "llama-3-8b"),
        (lambda: splitwave.SplitCounts("llama-3-8b", library="fa9"), "allowed: fixed-split, fa3"),
        (lambda: splitwave.SplitCounts("llama-3-8b", max_splits=0), "max_splits: 0 is not allowed"),
        (lambda: splitwave.SplitCounts("llama-3-8b", gpu="h200,a100"), "1 models and 2 machines"),
        (lambda: splitwave.SplitCounts("llama-3-8b", gpu="a100")([100]), "wgmma"),
        (lambda: splitwave.SplitCounts("llama-3-8b")([]), "the batch is empty"),
        (lambda: splitwave.SplitCounts("llama-3-8b")([10, -1]), r"context_lens\[1\]: a context of -1 tokens"),
        (lambda: splitwave.SplitCounts("llama-3-8b")([2**40]), "allowed: 0 to 1073741824"),
        (lambda: splitwave.SplitCounts("llama-3-8b")([10], query_len=0), "0 query tokens"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
