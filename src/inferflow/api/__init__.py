"""The way in over the network: wire bytes to requests, answers to wire bytes.

- `service`: the four calls, each a few lines around `engine.scorer`
- `predict`, `legacy`: the requests and answers of the two services
- `targets`, `values`, `entity`: rows, values and ids of a Predict request as columns
- `score_rows`: answers written in bulk
- `sampling`: which share of requests is answered in full
- `beside`: headers in and out; `insight`: who may look inside
- `operate`: what a server tells about itself
- `status`: the one table of what an error is called on the wire; `places`: what its place is
- `heavy`: threads for what would hold up the others
- `oip`: the calls of a worker, which are another protocol
- `http`: health and metrics
"""

import inferflow.rpc as _rpc  # noqa: F401  # says which extra to install when gRPC is not there
