#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses num_splits at every step of a serving loop.

A continuous-batching engine calls flash_attn_with_kvcache(..., num_splits=N) with another batch at every step. Here
requests come, grow by a token per step and leave; the count comes from splitwave, which searches only when a batch is
not much like one before, and answers within microseconds otherwise.

    python3 examples/serving_split.py
"""
import random
import time

import splitwave

MODEL = "llama-3-70b@tp=8,page=16"
GPU = "h100-sxm"
STEPS = 2000


class Batch:
    """Requests in flight, as a scheduler keeps them: context lengths in tokens."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.contexts = []

    def step(self):
        self.contexts = [length + 1 for length in self.contexts if self.random.random() > 0.005]
        if self.random.random() < 0.02 * (8 - len(self.contexts)):
            self.contexts.append(self.random.choice([500, 4000, 30000]))
        return self.contexts


def main():
    num_splits = splitwave.SplitCounts(MODEL, gpu=GPU, library="fa3")
    batch = Batch(seed=1)
    counts = {}
    slowest = seconds = 0.0
    for _ in range(STEPS):
        contexts = batch.step()
        if not contexts:
            continue
        begin = time.perf_counter()
        count = num_splits(contexts)  # flash_attn_with_kvcache(q, k_cache, v_cache, ..., num_splits=count)
        elapsed = time.perf_counter() - begin
        counts[count] = counts.get(count, 0) + 1
        seconds += elapsed
        slowest = max(slowest, elapsed)
    calls = sum(counts.values())
    print(f"{calls} steps, {num_splits.searches} searches; {seconds / calls * 1e6:.1f} us a step, at most "
          f"{slowest * 1e6:.0f} us")  # fmt: skip
    print("num_splits: " + ", ".join(f"{count} in {counts[count]} steps" for count in sorted(counts)))

    # What the choice is worth for one batch, predicted.
    contexts = [30000, 500]
    schedules = {"chosen": f"fa3:{num_splits(contexts)}", "FlashAttention-3's own rule": "fa3", "no split": "fa3:1"}
    spec = f"{MODEL}:" + "_".join(f"1q1s{length}" for length in contexts)
    for words, schedule in schedules.items():
        (record,) = splitwave.simulate(spec, gpu=GPU, schedule=schedule)
        print(f"contexts {contexts}, {words} (num_splits {record['num_splits']}): {record['seconds'] * 1e6:.1f} us")


if __name__ == "__main__":
    main()
