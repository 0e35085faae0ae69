"""The header of a GGUF file: metadata, and where each tensor lies.

The gguf package's own reader makes some objects for every string, which takes seconds for a
vocabulary of 150 000; this one reads the format straight (ggml's ``docs/gguf.md``, versions 2
and 3, little-endian). Tensors stay in the mapped file until they are asked for.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gguf import GGMLQuantizationType

_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32  # bytes, unless the metadata says otherwise


@dataclass(frozen=True)
class Tensor:
    """A tensor as it lies in the file."""

    name: str
    shape: tuple[int, ...]  # rows first, as in NumPy: the reverse of the file's order
    kind: GGMLQuantizationType
    data: NDArray[np.uint8]  # bytes, rows first; mapped, not read

    @property
    def size(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class GGUFFile:
    """The metadata and the tensors of a GGUF file, both in the file's order."""

    metadata: dict[str, Any]
    tensors: list[Tensor]


def read(path: Path) -> GGUFFile:
    """Read a file's header. Raises `ValueError` or `struct.error` if it is damaged."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    cursor = _Cursor(mapped)
    magic, version, tensors, pairs = cursor.numbers("4sIQQ")
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError(f"version {version} of GGUF is not known")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.numbers("I")[0])
    infos = [_info(cursor) for _ in range(tensors)]

    alignment = metadata.get("general.alignment", _ALIGNMENT)
    start = -(-cursor.at // alignment) * alignment
    found = []
    for name, shape, number, offset in infos:
        kind = GGMLQuantizationType(number)
        block, block_bytes = GGML_QUANT_SIZES[kind]
        if not shape or shape[-1] % block:
            raise ValueError(f"tensor {name} of shape {shape} does not fill blocks of {block}")
        width = shape[-1] // block * block_bytes
        count = math.prod(shape[:-1]) * width
        if start + offset + count > len(mapped):
            raise ValueError(f"tensor {name} ends after the file")
        data = np.frombuffer(mapped, np.uint8, count, start + offset).reshape(-1, width)
        found.append(Tensor(name, shape, kind, data))
    return GGUFFile(metadata, found)


def _info(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    (dimensions,) = cursor.numbers("I")
    if dimensions > 4:
        raise ValueError(f"tensor {name} has {dimensions} dimensions")
    shape = cursor.numbers(f"{dimensions}Q")[::-1]
    kind, offset = cursor.numbers("IQ")
    return name, shape, kind, offset


class _Cursor:
    """A place in the file that moves on with what is read from it."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content = content
        self.at = 0

    def numbers(self, code: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{code}", self.content, self.at)
        self.at += struct.calcsize(f"<{code}")
        return values

    def string(self) -> str:
        (length,) = self.numbers("Q")
        self._expect(length)
        text = self.content[self.at : self.at + length]
        self.at += length
        return text.decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.numbers(_number(kind))[0]
        item, count = self.numbers("IQ")
        self._expect(count)  # an item takes a byte at least
        if item == _STRING:
            return [self.string() for _ in range(count)]
        return list(self.numbers(f"{count}{_number(item)}"))

    def _expect(self, length: int) -> None:
        if length > len(self.content) - self.at:
            raise ValueError("it ends too early")


def _number(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"metadata of type {kind} is not known")
    return _NUMBERS[kind]
