"""The manager of a serving fleet, without its transport.

- `storage`: what is kept: models, versions, keys, uploads, workers, in SQLite or PostgreSQL
- `files`: the bytes of models, in a folder or any object store
- `names`: what models and their files may be called
- `intake`: what is checked of a model before anyone may see it
- `orders`, `uploads`, `receiving`, `publishing`: from the first byte to a visible version
- `stages`, `registry`: versions, where they stand, and who gets the traffic
- `live`: all of it in memory, for whoever asks
- `fleet`: workers as they are known, and how that changes; `scheduling`: whom a caller is sent to
- `joining`, `reports`: what workers say; `roster`: the fleet over all managers of one database
- `briefing`: what workers must know; `discovery`: where callers are sent
- `keys`, `sessions`, `rotation`: who may call, the tokens they are sent to workers with, and the
  keys that sign these
- `housekeeping`: what must be done now and then; `duties`: by whom
- `secret`: the one secret a manager has outside its database
- `services`: all of these, opened together

Nothing here runs a model: uploads are tried in a process of their own.
"""
