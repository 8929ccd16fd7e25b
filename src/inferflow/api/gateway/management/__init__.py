"""Managing over HTTP: configs, playground, recordings, fleet, features, logs, settings, live.

- `ports`: what stands behind the routes
- `shapes` and its neighbours: the JSON of answers and bodies, one file per subject
- one router per subject; `routes` has all of them
- `arriving`: files of a model on their way to disk
- `live_socket`: numbers and events, once per second, for as many pages as are open
"""
