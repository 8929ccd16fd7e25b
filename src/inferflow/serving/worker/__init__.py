"""A worker's inside: models that come and go, and requests that share their runs.

- `host`: which models there are; `resident`: one of them; `policy`: how they are treated
- `memory`: which are loaded, and when they leave; `loader`: brings one in
- `source`: where models come from; `crashes`: models that ended the process
- `lane`: the way to one loaded model; `ask`: one request, and several run as one
- `queue`: which requests run together and when; `slots`: how many runs at once
- `cost`: how long a run takes; `short_runs`: which are made on the event loop
- `eviction`, `backoff`: who makes room, when a failed load is tried again
- `stats`, `observer`: what is known afterwards

Nothing here knows gRPC or any wire format.
"""

from inferflow.serving.worker.ask import Answer, Ask
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.serving.worker.host import ModelHost
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.observer import WorkerObserver
from inferflow.serving.worker.policy import HostPolicy, ModelPlan
from inferflow.serving.worker.queue import BatchRules, Release
from inferflow.serving.worker.source import FolderSource, ModelSource

__all__ = [
    "Answer",
    "Ask",
    "BatchRules",
    "CrashLedger",
    "FolderSource",
    "HostPolicy",
    "Lane",
    "ModelHost",
    "ModelPlan",
    "ModelSource",
    "Release",
    "WorkerObserver",
]
