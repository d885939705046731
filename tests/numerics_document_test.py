#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of docs/numerics.md are those of docs/numerics/*.csv, to the digits that it shows."""
import csv
import math
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "numerics.md").read_text()
TEXT = " ".join(PAGE.split())
NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
problems = []


def rows(name):
    with open(DOCS / f"numerics/{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def value(name, column, **wanted):
    """The column of the one row that has the wanted values."""
    found = [row for row in rows(name) if all(row[key] == str(each) for key, each in wanted.items())]
    if len(found) != 1:
        sys.exit(f"{name}.csv has {len(found)} rows with {wanted}")
    return float(found[0][column])


def same(shown, exact, where):
    """Whether the number as it is shown is the exact one, rounded; the files' own rounding may move the last digit where
    the exact one lies amid two."""
    digits = re.sub(r"e.*", "", shown)
    decimals = len(digits.partition(".")[2])
    unit = 10.0 ** (int(shown.partition("e")[2] or 0) - decimals)
    if abs(float(shown) - exact) > 0.5 * unit + 1e-3 * abs(exact):
        problems.append(f"{where}: {shown} is shown, {exact:.4g} is in the files")


def claim(pattern, *expected):
    """A sentence of the page: each # of the pattern stands for a number, which is the expected one."""
    found = re.findall(re.escape(pattern).replace(r"\#", f"({NUMBER})"), TEXT)
    if len(found) != 1:
        problems.append(f"the page has this {len(found)} times: {pattern}")
        return
    numbers = found[0] if isinstance(found[0], tuple) else (found[0],)
    assert len(numbers) == len(expected), pattern
    for shown, exact in zip(numbers, expected):
        same(shown, exact, pattern)


def table(header):
    """Cells of the rows below the table's header."""
    lines = PAGE[PAGE.index(header):].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def context(tokens, rounding, column="rmse"):
    return value("context", column, context_len=tokens, rounding=rounding)


def split(parts, rounding):
    return value("splits", "rmse", splits=parts, rounding=rounding)


def distribution(name, rounding, column="rmse"):
    return value("distribution", column, distribution=name, rounding=rounding)


def outliers(rounding, reference, column="rmse", dim=128):
    return value("outliers", column, rounding=rounding, reference=reference, head_dim=dim, context_len=16384)


def latent(tokens, rounding, column="rmse", dtype="f16"):
    return value("latent_attention", column, context_len=tokens, rounding=rounding, dtype=dtype)


def check_outliers_table():
    checked = 0
    for cells in table("| | published |"):
        rounding = re.findall(r"`([^`]+)`", cells[0])[0]
        expected = [outliers(rounding, "drawn"), outliers(rounding, "drawn", "predicted_rmse"),
                    outliers(rounding, "drawn", dim=64), outliers(rounding, "stored"),
                    outliers(rounding, "stored", "predicted_rmse")]
        for shown, exact in zip(cells[2:], expected):
            same(shown, exact, f"FlashAttention-3's table, {rounding}")
        checked += len(cells) - 2
    assert checked == 30


def check_latent_table():
    checked = 0
    for cells in table("| tokens | rms(o) |"):
        tokens = cells[0]
        expected = [latent(tokens, "fa3", "output_rms"), latent(tokens, "fa3"), latent(tokens, "etap"),
                    latent(tokens, "flashmla"), latent(tokens, "fa3", "predicted_rmse"),
                    latent(tokens, "fa3", dtype="bf16")]
        for shown, exact in zip(cells[1:], expected):
            same(shown, exact, f"FlashMLA-ETAP's claim, {tokens} tokens")
        if latent(tokens, "etap", dtype="bf16") != latent(tokens, "fa3", dtype="bf16"):
            problems.append(f"fa3 and etap differ in bf16 at {tokens} tokens")
        checked += len(cells) - 1
    assert checked == 48


def factor(rounding, distribution="normal", dtype="f16", splits=1, reference="stored", weights=""):
    return value("latent_factors", "rmse", distribution=distribution, dtype=dtype, splits=splits, reference=reference,
                 rounding=rounding + weights)


def check_latent_factors():
    changes = [{}, {"splits": 8}, {"splits": 64}, {"weights": ", P in bf16"}, {"dtype": "bf16"}, {"reference": "drawn"},
               {"distribution": "tenth"}, {"distribution": "outliers"}, {"distribution": "outliers", "reference": "drawn"}]
    cells_of_rows = list(table("| changed | `fa3` |"))
    assert len(cells_of_rows) == len(changes)
    farthest = 0
    for cells, change in zip(cells_of_rows, changes):
        of_kernels = [factor(kernel, **change) for kernel in ("fa3", "etap", "flashmla")]
        for shown, exact in zip(cells[1:], of_kernels + [of_kernels[0] / factor("fa3")]):
            same(shown, exact, f"what a factor can come from, {cells[0]}")
        farthest = max(farthest, 100 * (max(of_kernels) / min(of_kernels) - 1))
    claim("No row separates the kernels by more than # %", farthest)
    claim("has # at 16,384 tokens (above), # times the first row here", outliers("fa3", "drawn"),
          outliers("fa3", "drawn") / factor("fa3"))


def check_shares():
    """Ratios that the page gives of the table."""
    published = {"standard": 3.2e-4, "fa3": 1.9e-4, "standard-fp8": 2.4e-2, "fa3-fp8": 9.1e-3,
                 "fa3-fp8:per-tensor": 9.3e-3, "fa3-fp8:coherent": 2.4e-2}
    shown = {re.findall(r"`([^`]+)`", cells[0])[0]: float(cells[1]) for cells in table("| | published |")}
    if shown != published:
        problems.append(f"the published column is {shown}, and not {published}")
    off = {name: outliers(name, "drawn") / each for name, each in published.items()}
    claim("all six numbers come out within # %", math.ceil(100 * max(max(each, 1 / each) - 1 for each in off.values())))
    claim("The baseline in FP8 is # % above the published", 100 * (off["standard-fp8"] - 1))
    claim("is all one to it (# both)", outliers("standard-fp8", "drawn"))
    claim("the baseline's error is # of FlashAttention-3's (published #)",
          outliers("standard", "drawn") / outliers("fa3", "drawn"), published["standard"] / published["fa3"])
    claim("incoherent processing gains # (#), block quantization nothing (# %)",
          outliers("fa3-fp8:coherent", "drawn") / outliers("fa3-fp8", "drawn"),
          published["fa3-fp8:coherent"] / published["fa3-fp8"],
          100 * (published["fa3-fp8:per-tensor"] / published["fa3-fp8"] - 1))
    predicted = [outliers(name, reference, "predicted_rmse") / outliers(name, reference)
                 for name in published for reference in ("drawn", "stored")]
    claim("The theory is # to # of what is measured", min(predicted), max(predicted))
    claim("its error is # (and never above # for these lengths and head dims)", outliers("fa3", "stored"),
          max(float(row["rmse"]) for row in rows("outliers") if row["rounding"] == "fa3" and row["reference"] == "stored"))


def check_theory():
    """What the page says of the theory's constants, which no file holds."""
    kappa = 1 / (8 * math.log(2))
    floor = math.sqrt(kappa) * 2**-11
    claim("κ = 1 / (8 ln 2) = #: an rms error of # u", kappa, math.sqrt(kappa))
    claim("passes through costs # of it** (bf16 #, e4m3 #). P and the output are two of them: #.", floor,
          math.sqrt(kappa) * 2**-8, math.sqrt(kappa) * 2**-4, math.sqrt(2) * floor)
    size = context(4096, "fa3", "output_rms")
    claim("√κ u = # | # (", floor, floor * size)
    claim("√2 times that: # | # (", math.sqrt(2) * floor, math.sqrt(2) * floor * size)
    claim("√3 times: #, for any number of splits | # |", math.sqrt(3) * floor, math.sqrt(3) * floor * size)
    claim("√κ 2^-4 √(2 + 1 + 1) = # | # (", math.sqrt(4 * kappa) * 2**-4, math.sqrt(4 * kappa) * 2**-4 * size)
    claim("u √(κ n / 2S) | # at S = 1", 2**-11 * math.sqrt(kappa * 4096 / 2) * size)
    claim("scores of variance σ², here #/√n", math.exp(0.5))
    claim("steps of 2^-7 in fp16, so a part's weight is off by #", 2**-7 / math.sqrt(12))
    claim("√κ u of #: half of the squared error", math.sqrt(2) * floor)
    claim("the floor of the output's own rounding (# in fp16)", floor)


def check_sentences():
    ratios = [float(row["predicted_rmse"]) / float(row["rmse"]) for row in rows("context") + rows("splits")]
    claim("over the points of the first two figures by # at most", max(max(each, 1 / each) for each in ratios))
    claim("normal Q, K, V at 4096 tokens: rms(o) #", context(4096, "fa3", "output_rms"))
    claim("(`flashinfer:cuda-cores`: #)", context(4096, "flashinfer:cuda-cores"))
    claim("(`fa3`: #)", context(4096, "fa3"))
    claim("(`fa3-fp8`: #)", context(4096, "fa3-fp8"))
    claim("`fa3` # at 256 tokens, # at 262,144. Three", context(256, "fa3"), context(262144, "fa3"))
    claim("the fp16 accumulator (#: n roundings", context(8192, "f16-accumulator"))
    claim("fp32's (#, the same)", context(4096, "f32"))
    claim("`fa3` and `lean` go from # to # (", split(1, "fa3"), split(128, "fa3"))
    claim("`flashinfer` #, `flashinfer:cuda-cores` # without splits and # with", split(2, "flashinfer"),
          split(1, "flashinfer:cuda-cores"), split(2, "flashinfer:cuda-cores"))
    worse = [split(parts, "lean:ort") / split(parts, "fa3") for parts in (2, 4, 8, 16, 32, 64, 128)]
    claim("`lean:ort` is # to # times worse once a row is split", min(worse), max(worse))
    flat, mean = distribution("flat", "fa3"), distribution("mean 1", "fa3")
    claim("spans a factor of # (`fa3`: # flat, # at mean 1), because rms(o) does (# to #)", mean / flat, flat, mean,
          distribution("flat", "fa3", "output_rms"), distribution("sink", "fa3", "output_rms"))
    names = {row["distribution"] for row in rows("distribution")}
    relative = [distribution(name, "fa3") / distribution(name, "fa3", "output_rms") for name in names]
    claim("relative to it, # to #.", min(relative), max(relative))
    claim("loses *every* small term: # instead of #", distribution("mean 1", "f16-accumulator"),
          distribution("mean 1", "f16-accumulator", "predicted_rmse"))


def check_why_papers_differ():
    claim("the RMSE with them | # at 256 tokens, # at 262,144: a factor of #", context(256, "fa3"),
          context(262144, "fa3"), context(256, "fa3") / context(262144, "fa3"))
    flat, mean = distribution("flat", "fa3"), distribution("mean 1", "fa3")
    claim("rms(o) is # for flat weights, # for a sink | # to # at 16,384 tokens: #",
          distribution("flat", "fa3", "output_rms"), distribution("sink", "fa3", "output_rms"), flat, mean, mean / flat)
    claim("head dim 128, 16,384 tokens: # and #: #", outliers("fa3", "stored"), outliers("fa3", "drawn"),
          outliers("fa3", "drawn") / outliers("fa3", "stored"))
    fp16, bf16 = latent(8192, "fa3"), latent(8192, "fa3", dtype="bf16")
    claim("MLA at 8,192 tokens: # in fp16, # in bf16: #", fp16, bf16, bf16 / fp16)
    claim("outliers, drawn, 16,384 tokens: # at 64, # at 128", outliers("fa3", "drawn", dim=64), outliers("fa3", "drawn"))
    claim("`fa3` # with and without; `flashinfer` # and #, `lean:ort` # and #", split(2, "fa3"), split(1, "flashinfer"),
          split(2, "flashinfer"), split(1, "lean:ort"), split(2, "lean:ort"))
    claim("at 262,144 tokens rms(o) is #, so an output of zeros has RMSE #", context(262144, "fa3", "output_rms"),
          context(262144, "fa3", "output_rms"))


check_outliers_table()
check_latent_table()
check_latent_factors()
check_shares()
check_theory()
check_sentences()
check_why_papers_differ()
print("\n".join(problems))
sys.exit(1 if problems else 0)
