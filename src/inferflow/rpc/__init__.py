"""gRPC plumbing without any business: servers, channels, their options, admission.

- `options`: every option of a server or a channel, with its default and its reason
- `server`: a listening server with health and reflection, and how it drains
- `listening`: whether an address is free; `held_port`: a port that several processes will share
- `channel`: a channel with retries that stay inside the deadline
- `tls`: certificates as files; `tls_server`, `tls_channel`: the two sides of a connection
- `renewed_channel`: a channel that takes up a client's new certificate
- `traced_server`, `traced_channel`: calls as parts of a trace; `traced_blocking`: those of threads;
  `ambient`: of a program's own trace
- `headers`: what travels beside a message
- `admission`: how many calls may be under way at once, and how long they may wait
- `turns`: who may use the event loop next when it is busy
"""

from inferflow.errors import MissingExtra

try:
    import grpc as _grpc  # noqa: F401  # asked for here once, so that nobody below has to explain
except ModuleNotFoundError as missing:
    raise MissingExtra("serve", for_what="gRPC") from missing
