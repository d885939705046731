# SPDX-License-Identifier: Apache-2.0
"""Attention in NumPy, and arrays of other libraries made by hand."""
import ctypes

import numpy as np


#: Two bytes of no known kind, which is what NumPy tells of ml_dtypes' bfloat16.
BFLOAT16 = np.dtype("V2")


def to_bfloat16(array):
    """The bits of float32 numbers rounded to bfloat16, to nearest with ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def attention(q, k, v, causal=False):
    """Output in float32 and LSE [batch, head, query] of arrays [batch, token, head, element]."""
    q, k, v = (np.asarray(x, np.float32) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    if causal:
        queries, tokens = scores.shape[2:]
        seen = np.arange(tokens) <= np.arange(queries)[:, None] + tokens - queries
        scores = np.where(seen, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights / total, v), (largest + np.log(total))[..., 0]


def normal(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

FLOAT, BFLOAT, INT, BOOL = 2, 4, 0, 6
CPU, CUDA = 1, 2


class DLPackTensor:
    """A tensor as torch gives one: nothing but __dlpack__. Counts how often its memory was given back."""

    def __init__(self, array, code=FLOAT, device=CPU, offset=0, dense=False):
        self.array, self.code, self.device, self.offset, self.dense = array, code, device, offset, dense
        self.released = 0
        self._managed = []

    def __dlpack__(self, stream=None):
        array = self.array
        extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
        tensor = _DLTensor(array.ctypes.data - self.offset, self.device, 0, array.ndim, self.code, 8 * array.itemsize,
                           1, extents, None if self.dense else strides, self.offset)  # fmt: skip

        def release(_):
            self.released += 1

        managed = _DLManagedTensor(tensor, None, _Deleter(release))
        self._managed.append((managed, extents, strides))
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)
