"""The way out over the network: a served project, called like one that is open in this process.

- `connecting`: `connect`, `connect_fleet` and their async forms, which load the rest
- `asking`: the calls people make, the same for both clients
- `aio`: the client; `sync` is a facade over it, with `background` for its event loop
- `outgoing`, `columns`, `rows`: a request as bytes
- `incoming`: bytes as scores
- `explaining`: what a server tells about itself
- `failures`: the one table of what a status means here; `pausing`: how long to wait after one,
  `budget`: how often to ask again, `throttling`: what had better not be sent
- `oip`: models on other hosts, for a project's own steps
- `sdk`: models of a fleet of workers, asked through its manager
- `manager`: a fleet's manager, for its workers and for those who administrate it
- `load`: prepared requests sent at a rate, and measured
"""
