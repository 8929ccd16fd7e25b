"""The wire messages, built from the generated `wire.binpb` in a pool of their own.

The protos have no package, so a client's generated code for the same messages (or anybody's
message called `Target`) would collide with ours in protobuf's default pool. In a private pool
they never meet. `make proto` writes `wire.binpb` from `proto/*.proto`.

- `messages`: one class per message, exactly as declared
- `coarse`: the same messages with their repeated rows left as bytes, for reading in bulk
- `alike`: where the values lie in rows that are all written alike
- `writing`: fields written without a message object
- `numbers`: rows of numbers for the compute service, a column at a time
"""
