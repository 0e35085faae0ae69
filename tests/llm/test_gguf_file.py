from __future__ import annotations

import struct

import gguf
import numpy as np
import pytest

from coevo.llm.gguf_file import read
from tests.llm import gguf_writer, tiny


def test_it_reads_what_the_gguf_package_reads(tmp_path):
    source = gguf_writer.write(
        tiny.make(tmp_path / "m"), tmp_path / "model.gguf", gguf_writer.Type.Q8_0
    )
    theirs, ours = gguf.GGUFReader(source), read(source)
    fields = {k: f.contents() for k, f in theirs.fields.items() if not k.startswith("GGUF.")}
    assert ours.metadata == fields
    assert len(ours.tensors) == len(theirs.tensors)
    for mine, other in zip(ours.tensors, theirs.tensors, strict=True):
        assert (mine.name, mine.kind) == (other.name, other.tensor_type)
        assert mine.shape == tuple(reversed(other.shape.tolist()))
        assert mine.data.tobytes() == other.data.tobytes()


def test_every_type_of_metadata_is_read(tmp_path):
    out = gguf.GGUFWriter(tmp_path / "types.gguf", "llama")
    values = {
        "uint8": 200, "int8": -7, "uint16": 60000, "int16": -300, "uint32": 4_000_000_000,
        "int32": -5, "uint64": 1 << 63, "int64": -(1 << 62), "float32": 0.5, "float64": 0.1,
        "bool": True, "string": "ñ", "array": [1, 2, 3],
    }  # fmt: skip
    for kind, value in values.items():
        getattr(out, f"add_{kind}")(kind, value)
    out.add_array("words", ["a", "", "ü"])
    out.add_tensor("one", np.ones((2, 3), np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    file = read(tmp_path / "types.gguf")
    expected = {"general.architecture": "llama", **values, "words": ["a", "", "ü"]}
    assert file.metadata == expected
    assert file.tensors[0].shape == (2, 3)
    assert file.tensors[0].size == 6


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<4sIQQ", b"GGUF", 1, 0, 0),  # version
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1 << 60),  # more metadata than bytes
        struct.pack("<4sIQQ", b"GGUF", 3, 1 << 60, 0),  # more tensors than bytes
        struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 1 << 62),  # a key longer than the file
        struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 10, 1 << 61),  # an endless array
        struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 99),  # a type that is not
        struct.pack("<4sIQQQ1sII", b"GGUF", 3, 1, 0, 1, b"t", 200, 0),  # 200 dimensions
        struct.pack("<4sIQQQ1sIQIQ", b"GGUF", 3, 1, 0, 1, b"t", 1, 1 << 60, 0, 0),  # past the end
    ],
)
def test_a_file_that_promises_what_it_does_not_hold_is_refused(content, tmp_path):
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises((ValueError, struct.error)):
        read(tmp_path / "bad.gguf")
