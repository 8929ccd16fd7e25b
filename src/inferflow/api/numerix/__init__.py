"""The compute service on the wire of Numerix: bytes in, bytes out.

- `service`: the call, and what becomes of its failures
- `asking`: a request as columns; `answering`: scores, or why there are none
- `number_text`: numbers as text, for callers who send text
"""
