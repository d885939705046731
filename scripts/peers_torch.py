#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the decode attention of PyTorch (FlashAttention and cuDNN backends), flash_attn and FlashInfer, as far as they are
installed, on the shapes of a CSV file, by the method of docs/measuring.md: copies of K and V in rotation, a CUDA graph,
the median of its replays. Writes records.

  scripts/peers_torch.py tests/gpu/public_shapes.csv --out peers.jsonl
"""
import argparse
import dataclasses
import importlib
import json
import math
import pathlib
import subprocess
import sys

PAGE = 256  # tokens: flash_attn's least page; a request's tokens begin on a page of their own
FLASHINFER_PAGE = 16


@dataclasses.dataclass
class Shape:
    name: str
    heads: int
    kv_heads: int
    dim: int
    lengths: list  # context length of each request

    @property
    def uniform(self):
        return len(set(self.lengths)) == 1

    @property
    def kv_bytes(self):
        return 4 * sum(self.lengths) * self.kv_heads * self.dim

    @property
    def pages(self):
        return [math.ceil(n / PAGE) for n in self.lengths]


def read_shapes(path):
    for line in open(path, encoding="utf-8"):
        if not line.strip() or line.startswith("#"):
            continue
        name, batch, heads, kv_heads, dim, _, lengths = line.strip().split(",")
        lengths = [int(n) for n in lengths.split(";")]
        yield Shape(name, int(heads), int(kv_heads), int(dim), lengths * int(batch) if len(lengths) == 1 else lengths)


def import_or_none(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def prepare_sdpa(torch, backend_name):
    """PyTorch's kernel of that name: one context length for the whole batch."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = getattr(SDPBackend, backend_name)

    def prepare(shape, query, keys, values):
        if not shape.uniform:
            raise NotImplementedError("takes one context length for the whole batch")
        batch, length = len(shape.lengths), shape.lengths[0]
        view = lambda cache: cache.view(batch, -1, shape.kv_heads, shape.dim)[:, :length].transpose(1, 2)
        q = query.unsqueeze(2)
        keys, values = [view(k) for k in keys], [view(v) for v in values]

        def launch(i):
            with sdpa_kernel(backend):
                torch.nn.functional.scaled_dot_product_attention(q, keys[i], values[i],
                                                                 enable_gqa=shape.heads != shape.kv_heads)
        return launch
    return prepare


def prepare_flash_attn(torch, flash_attn):
    """flash_attn_with_kvcache: contiguous where all lengths are equal, else a block table."""
    def prepare(shape, query, keys, values):
        batch = len(shape.lengths)
        lengths = torch.tensor(shape.lengths, device="cuda", dtype=torch.int32)
        table = None
        if shape.uniform:
            view = lambda cache: cache.view(batch, -1, shape.kv_heads, shape.dim)
        else:
            view = lambda cache: cache.view(-1, PAGE, shape.kv_heads, shape.dim)
            table = torch.zeros((batch, max(shape.pages)), device="cuda", dtype=torch.int32)
            first = 0
            for row, pages in enumerate(shape.pages):
                table[row, :pages] = torch.arange(first, first + pages)
                first += pages
        q = query.unsqueeze(1)
        keys, values = [view(k) for k in keys], [view(v) for v in values]
        return lambda i: flash_attn.flash_attn_with_kvcache(q, keys[i], values[i], cache_seqlens=lengths,
                                                            block_table=table)
    return prepare


def prepare_flashinfer(torch, flashinfer, tensor_cores):
    """BatchDecodeWithPagedKVCacheWrapper; its plan is made once, outside the time."""
    def prepare(shape, query, keys, values):
        used = [math.ceil(n / FLASHINFER_PAGE) for n in shape.lengths]
        indptr, indices, first = [0], [], 0
        for count, pages in zip(used, shape.pages):
            indices += range(first, first + count)
            indptr.append(len(indices))
            first += pages * (PAGE // FLASHINFER_PAGE)
        last = [n - (count - 1) * FLASHINFER_PAGE for n, count in zip(shape.lengths, used)]
        as_int = lambda values: torch.tensor(values, device="cuda", dtype=torch.int32)
        workspace = torch.zeros(256 << 20, device="cuda", dtype=torch.uint8)
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=tensor_cores)
        wrapper.plan(as_int(indptr), as_int(indices), as_int(last), shape.heads, shape.kv_heads, shape.dim,
                     FLASHINFER_PAGE, q_data_type=torch.float16, kv_data_type=torch.float16)
        view = lambda cache: cache.view(-1, FLASHINFER_PAGE, shape.kv_heads, shape.dim)
        caches = [(view(k), view(v)) for k, v in zip(keys, values)]
        return lambda i: wrapper.run(query, caches[i])
    return prepare


def installed_peers(torch):
    """{name of the peer: (version, how to prepare a launch)}"""
    peers = {"torch-flash": (torch.__version__, prepare_sdpa(torch, "FLASH_ATTENTION")),
             "torch-cudnn": (torch.__version__, prepare_sdpa(torch, "CUDNN_ATTENTION"))}
    if flash_attn := import_or_none("flash_attn"):
        peers["flash-attn"] = (flash_attn.__version__, prepare_flash_attn(torch, flash_attn))
    if flashinfer := import_or_none("flashinfer"):
        peers["flashinfer-decode"] = (flashinfer.__version__, prepare_flashinfer(torch, flashinfer, False))
        peers["flashinfer-tc"] = (flashinfer.__version__, prepare_flashinfer(torch, flashinfer, True))
    return peers


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


def copies_for(kv_bytes):
    """Copies of K and V of that many bytes, so that none lies in L2 when its turn comes: gpu/measure.cpp, copies_for()."""
    most = min(max(math.ceil(128e6 / kv_bytes), 1024), 32768)
    return min(max(math.ceil(400e6 / kv_bytes), 2), most)


def time_shape(torch, shape, peers, replays):
    """A record for each peer; without a time where it does not take the shape."""
    copies = copies_for(shape.kv_bytes)
    tokens = sum(shape.pages) * PAGE
    keys, values = ([torch.randn((tokens, shape.kv_heads, shape.dim), device="cuda", dtype=torch.float16)
                     for _ in range(copies)] for _ in range(2))
    query = torch.randn((len(shape.lengths), shape.heads, shape.dim), device="cuda", dtype=torch.float16)
    minimal = shape.kv_bytes + 4 * query.numel()
    for peer, (version, prepare) in peers.items():
        device = torch.cuda.get_device_name()
        record = {"workload": shape.name, "schedule": peer, "executor": f"peer:{peer}", "machine": device}
        try:
            launch = prepare(shape, query, keys, values)
            p20, median, p80 = time_graph(torch, launch, copies, minimal, replays)
            record |= {"seconds": median, "seconds_p20": p20, "seconds_p80": p80, "samples": replays,
                       "bytes": minimal, "bytes_per_second": minimal / median}
        except (RuntimeError, ValueError, NotImplementedError) as error:
            record["failure"] = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield record | {"device": device, "commit": commit(), "version": version}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes")
    parser.add_argument("--out", required=True, help="JSON Lines file of records, appended to")
    parser.add_argument("--replays", type=int, default=11)
    parser.add_argument("--most-gb", type=float, default=20, help="skip shapes with more K and V")
    args = parser.parse_args()
    torch = import_or_none("torch")
    if torch is None or not torch.cuda.is_available():
        print("peers_torch.py: " + ("no PyTorch" if torch is None else "no CUDA device"), file=sys.stderr)
        return 3
    peers = installed_peers(torch)
    print("peers: " + ", ".join(f"{name} {version}" for name, (version, _) in peers.items()))
    with open(args.out, "a", encoding="utf-8") as out:
        for shape in read_shapes(args.shapes):
            if shape.kv_bytes > args.most_gb * 1e9:
                continue
            for record in time_shape(torch, shape, peers, args.replays):
                print(json.dumps(record), file=out, flush=True)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
