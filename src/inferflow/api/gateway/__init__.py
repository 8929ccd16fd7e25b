"""The gateway: everything over HTTP, for programs and for the web pages.

Routes translate and decide nothing: what they need comes in as the small ports of `ports`, and
who may call which of them is the one table in `rules`.

- `app`: routers, the door and the limits, put together as one ASGI application
- `door`: nobody gets past a route's rule, before a byte of the body is read
- `failing`: errors as problem documents, by the one status table
- `scoring`, `score_json`: requests as JSON, answers as JSON
- `oip`: the Open Inference Protocol's REST form
- `sockets`: streams of requests over a WebSocket
- `management`: configs, fleet, features, logs and live numbers
- `shielding`: how large and how slow a request may be, and from where it may come
- `pages`: the web pages, served from the package
"""
