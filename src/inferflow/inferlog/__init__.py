"""The inference log: what was inferred, for training, analysis and replay.

- `sampling`: who is logged today; `schema`: what is logged of a config, decided when it is loaded
- `log`: takes finished requests off the request path, `queue` holds them within bounds, and a
  thread hands them to a sink; `counting`: each is delivered, dropped or expired, and counted
- `rows`, `cells`, `columnar`, `message`: requests as messages, in three formats
- `frames`, `states`, `logfile`, `files`: requests as plain columns in Parquet files
- `kafka`: messages to brokers
- `decoding`, `folder`, `consuming`, `stats`: reading all of that back
- `arrow`, `zstd`: the homes of libraries that are imported on use
"""
