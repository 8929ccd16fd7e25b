"""Our messages live beside anybody else's of the same names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from inferflow._proto import messages
from inferflow._proto.pool import declared_files

PROTO = Path(__file__).parents[3] / "proto"
FILES = sorted(str(file.relative_to(PROTO)) for file in PROTO.rglob("*.proto"))

CLIENT = """
import predict_pb2, inferflow_pb2                     # as a client generates them
from inferflow._proto import messages, coarse         # ours, for the same messages

theirs = predict_pb2.PointWiseRequest(model_config_id="x", targets=[predict_pb2.Target(id="1")])
ours = messages.PointWiseRequest.FromString(theirs.SerializeToString())
assert ours.targets[0].id == "1"
assert coarse.PointWiseRequest.FromString(theirs.SerializeToString()).targets[0] == b"\\n\\x011"
assert type(theirs) is not type(ours)
line = messages.InferflowResponse(component_data=[{"data": ["a"]}]).SerializeToString()
assert inferflow_pb2.InferflowResponseProto.FromString(line).component_data[0].data == ["a"]
print("both work")
"""


def generate(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", *arguments, *FILES], check=True
    )


@pytest.mark.parametrize("theirs_first", [True, False])
def test_a_client_generated_from_the_same_protos_works_in_the_same_process(
    tmp_path: Path, theirs_first: bool
) -> None:
    generate(f"--python_out={tmp_path}")
    lines = CLIENT.strip().splitlines()
    if not theirs_first:
        lines[:2] = lines[1::-1]
    program = "\n".join([f"import sys; sys.path.insert(0, {str(tmp_path)!r})", *lines])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("both work\n", "")


def test_the_generated_file_is_what_the_protos_say(tmp_path: Path) -> None:
    generate(f"--descriptor_set_out={tmp_path / 'wire.binpb'}")
    assert FileDescriptorSet.FromString((tmp_path / "wire.binpb").read_bytes()) == declared_files()


def test_every_scoring_message_has_a_class() -> None:
    scoring = [file for file in declared_files().file if not file.package]
    declared = [message.name for file in scoring for message in file.message_type]
    ours = {
        value.DESCRIPTOR.name for value in vars(messages).values() if hasattr(value, "DESCRIPTOR")
    }
    assert ours == set(declared)
