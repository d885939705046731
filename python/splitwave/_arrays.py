# SPDX-License-Identifier: Apache-2.0
"""Anybody's arrays as the extension's, in place where that can be."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Union

from . import _splitwave

if TYPE_CHECKING:
    import numpy as np


class SupportsDLPack(Protocol):
    """torch.Tensor, jax.Array, cupy.ndarray and others (https://data-apis.org/array-api)."""

    def __dlpack__(self) -> Any: ...


class SupportsArrayInterface(Protocol):
    """What NumPy can look at in place."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


#: A NumPy array, anything with __dlpack__ or __array_interface__ in the computer's memory, or what numpy.asarray takes.
ArrayLike = Union["np.ndarray[Any, Any]", SupportsDLPack, SupportsArrayInterface, Any]

_TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool"}


def native_array(name: str, value: ArrayLike) -> _splitwave.Array:
    """The extension's array of what a user gave as `name`."""
    import numpy as np

    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        try:
            capsule = value.__dlpack__()
        except Exception as error:  # whatever a library raises: a tensor that needs a gradient, a device's memory
            raise ValueError(f"{name}: __dlpack__ failed: {' '.join(str(error).split())}") from error
        return _splitwave.array_from_dlpack(capsule, name)
    array = np.asarray(value)
    # bfloat16 is no type of NumPy's own: that of ml_dtypes is two bytes of no known kind, also when npy files hold it.
    if array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.fields is None:
        kind = "bf16"
    else:
        if array.dtype.kind in "iu" and array.dtype.name not in _TYPES and np.can_cast(array.dtype, np.int64):
            array = array.astype(np.int64)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        kind = _TYPES.get(array.dtype.name, array.dtype.name)
    dense_rows = array.ndim == 0 or array.shape[-1] < 2 or array.strides[-1] == array.itemsize
    if not dense_rows or any(stride % array.itemsize for stride in array.strides):
        array = np.ascontiguousarray(array)
    address = array.__array_interface__["data"][0]
    return _splitwave.array_from_memory(array, name, address, kind, array.shape, array.strides)
