#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's scaled_dot_product_attention (FlashAttention and cuDNN backends) on the shapes of a CSV file, by the
method of docs/measuring.md: copies of K and V in rotation, a CUDA graph, the median of its replays. Writes records.

  scripts/peers_torch.py tests/gpu/public_shapes.csv --out torch.jsonl
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys


def read_shapes(path):
    """(id, batch, query heads, KV heads, head dim, context lengths) of each line."""
    for line in open(path, encoding="utf-8"):
        if not line.strip() or line.startswith("#"):
            continue
        name, batch, heads, kv_heads, dim, _, lengths = line.strip().split(",")
        lengths = [int(n) for n in lengths.split(";")]
        yield name, int(batch), int(heads), int(kv_heads), int(dim), lengths * int(batch) if len(lengths) == 1 else lengths


def commit():
    """Commit of the checkout that this script is part of."""
    root = pathlib.Path(__file__).resolve().parent.parent
    run = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def time_graph(torch, launch, copies, bytes_moved, replays):
    """(p20, median, p80) seconds of one launch."""
    launches = copies * max(1, round(2e-3 / ((bytes_moved / 4e12 + 8e-6) * copies)))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(3):
            launch(i % copies)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(launches):
            launch(i % copies)
    times = []
    for _ in range(replays + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / launches)
    times = sorted(times[1:])
    at = lambda q: times[min(len(times) - 1, int(q * len(times)))]
    return at(0.2), at(0.5), at(0.8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes")
    parser.add_argument("--out", required=True, help="JSON Lines file of records, appended to")
    parser.add_argument("--replays", type=int, default=11)
    parser.add_argument("--most-gb", type=float, default=20, help="skip shapes with more K and V")
    args = parser.parse_args()
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        print(f"peers_torch.py: {error}", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("peers_torch.py: no CUDA device", file=sys.stderr)
        return 3
    backends = {"torch-flash": SDPBackend.FLASH_ATTENTION, "torch-cudnn": SDPBackend.CUDNN_ATTENTION}
    with open(args.out, "a", encoding="utf-8") as out:
        for name, batch, heads, kv_heads, dim, lengths in read_shapes(args.shapes):
            if len(set(lengths)) != 1:
                continue  # these backends take one length for the whole batch
            length = lengths[0]
            kv_bytes = 4 * batch * length * kv_heads * dim
            if kv_bytes > args.most_gb * 1e9:
                continue
            copies = min(1024, max(2, math.ceil(400e6 / kv_bytes)))
            shape = (batch, length, kv_heads, dim)
            keys = [torch.randn(shape, device="cuda", dtype=torch.float16).transpose(1, 2) for _ in range(copies)]
            values = [torch.randn(shape, device="cuda", dtype=torch.float16).transpose(1, 2) for _ in range(copies)]
            query = torch.randn((batch, heads, 1, dim), device="cuda", dtype=torch.float16)
            minimal = kv_bytes + 4 * batch * heads * dim
            for peer, backend in backends.items():
                record = {"workload": name, "schedule": peer, "executor": f"peer:{peer}",
                          "machine": torch.cuda.get_device_name()}
                try:
                    with sdpa_kernel(backend):
                        p20, median, p80 = time_graph(
                            torch, lambda i: torch.nn.functional.scaled_dot_product_attention(
                                query, keys[i], values[i], enable_gqa=heads != kv_heads), copies, minimal, args.replays)
                    record |= {"seconds": median, "seconds_p20": p20, "seconds_p80": p80, "samples": args.replays,
                               "bytes": minimal, "bytes_per_second": minimal / median}
                except RuntimeError as error:
                    record["failure"] = str(error).splitlines()[0]
                record |= {"device": torch.cuda.get_device_name(), "commit": commit(), "version": torch.__version__}
                print(json.dumps(record), file=out, flush=True)
            del keys, values
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
