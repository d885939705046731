# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json

import numpy as np
import pytest
from arrays import BFLOAT, BFLOAT16, BOOL, CUDA, INT, DLPackTensor, attention, from_bfloat16, normal, to_bfloat16

import splitwave

SHAPES = ((2, 3, 8, 64), (2, 300, 2, 64), (2, 300, 2, 64))


def case(dtype=np.float16):
    return [normal(shape, seed, dtype) for seed, shape in enumerate(SHAPES)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_right_kernel_passes_and_a_wrong_one_does_not(dtype):
    q, k, v = case(dtype)
    out, lse = attention(q, k, v, causal=True)
    # A float64 output is judged as the float32 one that it was computed as.
    weights = "f32" if dtype == np.float64 else None
    right = splitwave.verify(q, k, v, out.astype(min(dtype, np.float32, key=lambda t: np.dtype(t).itemsize)), lse=lse,
                             causal=True, weights=weights)  # fmt: skip
    assert right and right.passed and right.findings == []
    assert right.rows == 2 * 3 * 8 and right.output["elements"] == 2 * 3 * 8 * 64
    assert len(right.heads) == 8 and len(right.requests) == 2 and right.lse["max_abs"] < 1e-5
    wrong, _ = attention(q, k[:, :-1], v[:, :-1], causal=True)
    verdict = splitwave.verify(q, k, v, wrong.astype(np.float16), causal=True)
    assert not verdict and verdict.findings[0]["fault"] == "last_token"
    assert str(verdict).startswith("output: FAIL\n") and "last_token" in str(verdict)


def test_the_worst_element_is_where_it_was_put():
    q, k, v = case()
    out = attention(q, k, v)[0].astype(np.float16)
    out[1, 2, 5, 17] += 0.5
    worst = splitwave.verify(q, k, v, out).worst
    assert [worst[key] for key in ("request", "query", "head", "element")] == [1, 2, 5, 17]
    assert worst["value"] == out[1, 2, 5, 17]


def test_groups_make_columns():
    q, k, v = case()
    verdict = splitwave.verify(q, k, v, attention(q, k, v)[0].astype(np.float16))
    table = splitwave.columns(verdict.heads)
    assert table["index"] == list(range(8)) and len(table["max_abs"]) == 8


def test_bfloat16_of_ml_dtypes_and_of_dlpack():
    q, k, v = (to_bfloat16(x) for x in case(np.float32))
    out = to_bfloat16(attention(*(from_bfloat16(x) for x in (q, k, v)))[0])
    arrays = [x.view(BFLOAT16) for x in (q, k, v, out)]
    tensors = [DLPackTensor(x, BFLOAT) for x in (q, k, v, out)]
    by_numpy, by_dlpack = splitwave.verify(*arrays), splitwave.verify(*tensors)
    assert by_numpy.passed and by_numpy == by_dlpack
    assert by_numpy.rules["tolerance"]["limit"] > 1e-3  # the output's type was taken for bfloat16
    assert not splitwave.verify(*tensors[:3], DLPackTensor(out[::-1], BFLOAT)).passed


@pytest.mark.parametrize("spec", ["llama-3-8b,dtype=bf16:2q1s300", "deepseek-v3@tp=8,page=16:1q2s100_1q1s40"])
def test_files_of_the_command_can_be_judged(command, tmp_path, spec):
    run = command.run("workload", "tensors", "-w", spec, "--out", str(tmp_path / "case"))
    assert run.returncode == 0, run
    arrays = {path.stem: np.load(path) for path in (tmp_path / "case").glob("*.npy")}
    said = json.loads((tmp_path / "case" / "case.json").read_text())
    options = {key: value for key, value in said.items() if key in ("causal", "window", "scale", "layout", "kv_layout")}
    out, v = arrays.pop("output"), arrays.pop("v", None)
    verdict = splitwave.verify(arrays.pop("q"), arrays.pop("k"), v, out, **arrays, **options)
    assert verdict.passed and verdict.lse is not None


def test_every_kind_of_array_gives_the_same():
    q, k, v = case()
    out = attention(q, k, v)[0].astype(np.float16)
    expected = splitwave.verify(q, k, v, out)

    class Interface:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    for wrap in (Interface, DLPackTensor, lambda a: DLPackTensor(a, dense=True), lambda a: DLPackTensor(a, offset=256),
                 memoryview, lambda a: a.astype(">f2"), np.asfortranarray, lambda a: a.tolist()):  # fmt: skip
        options = {}
        if isinstance(wrap(np.zeros(2, np.float16)), list):  # numpy makes doubles of them
            options["weights"] = "f16"
            assert splitwave.verify(*(wrap(x) for x in (q, k, v)), out, **options).passed
        else:
            assert splitwave.verify(*(wrap(x) for x in (q, k, v, out))) == expected


def test_arrays_are_read_in_place_with_any_strides():
    q, k, v = case()
    out = attention(q, k, v)[0].astype(np.float16)
    expected = splitwave.verify(q, k, v, out)

    def strided(array):
        """Every other element of something larger, backwards, and the last axis dense."""
        larger = np.full((array.shape[0], 2 * array.shape[1], *array.shape[2:]), np.nan, array.dtype)
        larger[:, ::-2] = array
        return larger[:, ::-2]

    for wrap in (strided, lambda a: DLPackTensor(strided(a))):
        assert splitwave.verify(*(wrap(x) for x in (q, k, v, out))) == expected


def test_dlpack_memory_is_given_back_once():
    q, k, v = case()
    tensors = [DLPackTensor(x) for x in (q, k, v, attention(q, k, v)[0].astype(np.float16))]
    for calls in (1, 2):
        splitwave.verify(*tensors)
        assert [tensor.released for tensor in tensors] == [calls] * 4
    with pytest.raises(ValueError):
        splitwave.verify(*tensors, weights="f8")
    assert [tensor.released for tensor in tensors] == [3] * 4


def test_head_major_arrays():
    q, k, v = case()
    out = attention(q, k, v)[0].astype(np.float16)
    turned = [x.transpose(0, 2, 1, 3) for x in (q, k, v, out)]
    expected = splitwave.verify(q, k, v, out)
    assert splitwave.verify(*turned, layout="head") == expected
    assert splitwave.verify(q, turned[1], turned[2], out, kv_layout="head") == expected


def test_what_is_not_finite_is_a_float():
    q, k, v = case()
    out = attention(q, k, v)[0].astype(np.float16)
    out[1, 2, 5, 17] = np.nan
    verdict = splitwave.verify(q, k, v, out, name="mine")
    assert not verdict.passed and verdict.output["mismatched_non_finite"] == 1
    assert np.isnan(verdict.worst["value"])
    assert str(verdict).startswith("mine: FAIL\n")


def test_the_command_says_the_same(command, tmp_path):
    q, k, v = case()
    out = attention(q, k[:, :-3], v[:, :-3])[0].astype(np.float16)
    for name, array in {"q": q, "k": k, "v": v, "output": out}.items():
        np.save(tmp_path / f"{name}.npy", array)
    run = command.run("verify", "--tensors", str(tmp_path), "--json")
    assert run.returncode == 1
    expected = json.loads(run.stdout)
    found = dataclasses.asdict(splitwave.verify(q, k, v, out, name=expected["name"]))
    assert {key: found[key] for key in expected} == expected


def test_ragged_batches_by_cumulative_lengths():
    lengths = [5, 260, 0, 33]
    ends = np.cumsum([0, *lengths])
    q, k, v = (normal(shape, 9, np.float16) for shape in ((4, 4, 64), (ends[-1], 2, 64), (ends[-1], 2, 64)))
    out = np.zeros_like(q)
    for i, (begin, end) in enumerate(zip(ends, ends[1:])):
        if end > begin:
            out[i : i + 1] = attention(q[i : i + 1, None], k[None, begin:end], v[None, begin:end])[0][0]
    arguments = {"cu_seqlens_q": np.arange(5, dtype=np.int32), "cu_seqlens_k": ends}
    assert splitwave.verify(q, k, v, out, **arguments).passed
    tensors = {name: DLPackTensor(value, INT) for name, value in arguments.items()}
    assert splitwave.verify(q, k, v, out, **tensors).passed
    assert splitwave.verify(q, k, v, out, cu_seqlens_q=[0, 1, 2, 3, 4], cu_seqlens_k=ends.astype(np.int16)).passed
    out[1] = attention(q[1:2, None], k[None, 5:264], v[None, 5:264])[0][0]
    assert not splitwave.verify(q, k, v, out, **arguments).passed


def test_pages_may_lie_anywhere_and_unused_slots_hold_nan():
    lengths, page = [40, 100], 16
    table = np.array([[7, 2, 9, 0, 0, 0, 0], [1, 3, 4, 5, 6, 8, 10]], np.int32)
    pages_k, pages_v = (np.full((11, page, 2, 64), np.nan, np.float16) for _ in range(2))
    q = normal((2, 1, 4, 64), 0, np.float16)
    out = np.empty_like(q)
    for request, length in enumerate(lengths):
        k, v = (normal((1, length, 2, 64), 10 * request + i, np.float16) for i in (1, 2))
        for position in range(length):
            at = table[request, position // page], position % page
            pages_k[at], pages_v[at] = k[0, position], v[0, position]
        out[request] = attention(q[request : request + 1], k, v)[0][0]
    verdict = splitwave.verify(q, pages_k, pages_v, out, block_table=table, context_lens=lengths)
    assert verdict.passed
    swapped = table.copy()
    swapped[1, [0, 5]] = swapped[1, [5, 0]]
    swapped[1, [1, 6]] = swapped[1, [6, 1]]
    verdict = splitwave.verify(q, pages_k, pages_v, out, block_table=swapped, context_lens=lengths)
    assert not verdict.passed


def test_masks_are_bool_or_added():
    q, k, v = case()
    mask = np.random.default_rng(3).random((3, 300)) < 0.5
    scores = np.where(mask, 0, -np.inf).astype(np.float32)
    kept = [attention(q[:, i : i + 1], k[:, mask[i]], v[:, mask[i]])[0] for i in range(3)]
    out = np.concatenate(kept, 1).astype(np.float16)
    for given in (mask, scores, DLPackTensor(mask, BOOL), DLPackTensor(scores)):
        assert splitwave.verify(q, k, v, out, mask=given).passed
    assert not splitwave.verify(q, k, v, out, mask=~mask).passed


def test_lse_in_either_base_and_order():
    q, k, v = case()
    out, lse = attention(q, k, v)
    out = out.astype(np.float16)
    assert splitwave.verify(q, k, v, out, lse=lse).passed
    assert splitwave.verify(q, k, v, out, lse=lse.transpose(0, 2, 1).copy(), lse_head_first=False).passed
    assert splitwave.verify(q, k, v, out, lse=lse / np.log(2), lse_base="2").passed
    verdict = splitwave.verify(q, k, v, out, lse=lse / np.log(2))
    assert not verdict.passed and verdict.findings[0]["fault"] == "lse_base_two"


def test_diagnosis_can_be_left_out():
    q, k, v = case()
    wrong = attention(q, k[:, :-1], v[:, :-1])[0].astype(np.float16)
    verdict = splitwave.verify(q, k, v, wrong, diagnose=False)
    assert not verdict.passed and verdict.findings == []


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": np.zeros((2, 3, 8, 64), np.int32)}, "q: dtype is i32; allowed: f16, bf16, f32, f64"),
        ({"q": np.zeros((2, 3, 8, 64), complex)}, "q: its elements are complex128; allowed: f64, f32, f16, bf16, i64"),
        ({"out": np.zeros((1,), object)}, "output: its elements are object; allowed: "),
        ({"k": np.zeros((2, 300, 2, 32), np.float16)}, "k: rows have 32 elements and q's 64; allowed: "),
        ({"out": DLPackTensor(np.zeros(4, np.float16), device=CUDA)}, "output: its memory is a device's .* allowed: "),
        ({"v": DLPackTensor(np.zeros(4, np.uint8), code=1)}, "v: its elements have DLPack type 1 of 8 bits; allowed: "),
        ({"layout": "sbhd"}, "layout: sbhd is not allowed; allowed: token, head"),
        ({"kv_layout": "HND"}, "kv_layout: HND is not allowed; allowed: token, head"),
        ({"lse_base": "10"}, "lse_base: 10 is not allowed; allowed: e, 2"),
        ({"empty_lse": "0"}, "empty_lse: 0 is not allowed; allowed: -inf, \\+inf"),
        ({"weights": "f8"}, "weights: f8 is not allowed; allowed: f16, bf16, tf32, f32, f64"),
        ({"window": 0}, "window: 0 is not allowed; allowed: an integer from 1 to 1073741824"),
        ({"scale": float("nan")}, "allowed: a finite number"),
        ({"context_lens": [1, 301]}, "context_lens"),
        ({"context_lens": [1, -1]}, "context_lens"),
        ({"block_table": [[0], [7]], "context_lens": [1, 1]}, "block_table"),
    ],
)
def test_errors_are_one_line_that_names_the_array(change, message):
    q, k, v = case()
    arguments = {"q": q, "k": k, "v": v, "out": np.zeros_like(q), **change}
    with pytest.raises(ValueError, match=message) as error:
        splitwave.verify(**arguments)
    assert "\n" not in str(error.value)


def test_a_tensor_that_cannot_be_exported_says_so():
    class NeedsGradient:
        def __dlpack__(self):
            raise RuntimeError("Can't export tensors that require gradient,\nuse tensor.detach()")

    q, k, v = case()
    with pytest.raises(ValueError, match="^v: __dlpack__ failed: Can't export .* gradient, use tensor.detach()"):
        splitwave.verify(q, k, NeedsGradient(), q)


pytest_plugins = ["pytester", "splitwave.pytest_plugin"]


def test_the_fixture_passes_right_outputs_and_returns_the_verdict(assert_attention_close):
    q, k, v = case()
    assert assert_attention_close(q, k, v, attention(q, k, v)[0].astype(np.float16)).passed


def test_the_fixture_fails_with_the_reasons(pytester):
    pytester.makepyfile("""
        import numpy as np
        pytest_plugins = "splitwave.pytest_plugin"
        def test_zeros(assert_attention_close):
            q = np.ones((1, 1, 2, 8), np.float16)
            assert_attention_close(q, q, q, np.zeros_like(q))
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*output: FAIL*"])
