"""A manager over gRPC: what workers, clients and administrators ask of it.

- `rules`: what a key must be good for, call by call; `door`: whose key it is
- `calling`: a function as a call: identified, admitted, counted, its failures as statuses
- `reading`, `writing`: messages as values, and back
- `discovery`, `fleet`, `registry`: the calls of the three services
"""
