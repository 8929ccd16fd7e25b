"""Requests a serving process keeps for a while: those that asked, were slow, or failed.

- `kept`: one of them; `keeper`: all of them, bounded in number and bytes
- `slowest`: which requests count as slow
- `documents`: what is told about one, and in a list
- `pages`: the documents of this process; `gathered`: those of several processes as one's
- `records`: what a server is handed of all this

Four meet here. The `Keeper` hears of every request as an observer, and keeps. `Pages` (declared in
`api.operate`) write what is asked for as documents: `LocalPages` of one `Keeper`, `GatheredPages`
of many processes. `Records` are both in one hand, for whoever puts a server together. The `Desk`
(`api.operate` too) stands before the `Pages`, over gRPC and HTTP: it checks what is asked and who
asks, before anything is looked up.

Nothing is recorded of a request that did not ask: of a slow or failed one only the facts are
kept that the engine counts anyhow, without values or keys.
"""
