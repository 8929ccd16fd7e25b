"""Load for a server that runs: prepared bytes, sent as fast as asked, measured from when they were
due.

- `plan`: what to send, how often, for how long
- `generator`: sends it, in one event loop; `wire` is its way out
- `tally`: what came of every call; `report`: what to say about it
- `running`: a load from start to end, in this process or in several

    load = Load("localhost:50051", calls=(call_for(request),), seconds=10, rate=500)
    print(run_load(load).latency_ms["p99"])
"""

from inferflow.client.load.plan import Call, Load, call_for, with_key
from inferflow.client.load.report import LoadReport
from inferflow.client.load.running import run_load

__all__ = ["Call", "Load", "LoadReport", "call_for", "run_load", "with_key"]
