"""What is wrong with a model, in a sentence someone can act on.

ONNX Runtime reports its own source lines, C++ signatures and absolute paths. What leaves
here is one short line without them.
"""

from __future__ import annotations

import re
from pathlib import Path

_SHORT = 300

_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"<", "it is a web page or XML, not ONNX", "was an error page saved in its place?"),
    (b"{", "it is JSON, not ONNX", ""),
    (b"version https://git-lfs", "it is a Git LFS pointer, not the model", "run: git lfs pull"),
    (b"PK\x03\x04", "it is a zip archive, not ONNX", "export the model with torch.onnx or similar"),
    (b"\x80\x02", "it is a Python pickle, not ONNX", "export the model to ONNX"),
    (b"\x80\x03", "it is a Python pickle, not ONNX", "export the model to ONNX"),
    (b"\x80\x04", "it is a Python pickle, not ONNX", "export the model to ONNX"),
    (b"\x80\x05", "it is a Python pickle, not ONNX", "export the model to ONNX"),
    (b"\x89HDF\r\n", "it is HDF5 (Keras), not ONNX", "export the model with tf2onnx"),
)

_NOISE = (
    re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : "),
    re.compile(r"Load model from .*? failed:\s*"),
    re.compile(r"/\S+\.(?:cc|h):\d+ .*?\)(?: const)? "),
    re.compile(r"\b\w+\.(?:cc|h):\d+ \w+ "),
    re.compile(r"Please fix either the inputs/outputs or the model\."),
)
_OUTSIDE = re.compile(r"External data path validation failed for initializer: (.+?)\. Error")


def foreign_format(head: bytes) -> tuple[str, str] | None:
    """What a file is, by its first bytes, when it clearly is not ONNX; and a hint."""
    if not head:
        return "the file is empty", "was it copied completely?"
    for start, what, hint in _FOREIGN:
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(start):
            return what, hint
    return None


def load_complaint(failed: BaseException, path: Path) -> tuple[str, str]:
    """Why a file did not load, and a hint."""
    text = str(failed)
    outside = _OUTSIDE.search(text)
    if outside:
        what = f"the weights {outside[1]!r} are in another file that is missing or out of bounds"
        return what, "keep weights in the version folder, or export the model as one file"
    if "Protobuf parsing failed" in text or isinstance(failed, UnicodeDecodeError):
        return "it is not ONNX, or damaged", "was it copied completely?"
    return run_complaint(text.replace(f"{path.parent}/", "")), ""


def run_complaint(failed: object) -> str:
    """A vendor's message, shortened to what helps."""
    text = str(failed)
    for noise in _NOISE:
        text = noise.sub("", text)
    text = " ".join(text.split()) or type(failed).__name__
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
