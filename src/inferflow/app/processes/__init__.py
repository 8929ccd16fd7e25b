"""Several processes that answer on one port, and the one that looks after them.

The parent holds the project open, watches it, and decides what is accepted; it answers no
calls. Its children answer calls with what was accepted, and decide nothing.

- `snapshot`: what is accepted, as one file that is replaced whole
- `publishing`: the parent writes it; `following`: a child takes it up
- `messages`: what parent and child tell each other; `process`: the parent's end of that
- `restarts`: when a process that ended is started again; `supervisor`: starts and ends them
- `asking`: how any process of a server can ask all of them; `pages`: their metrics on one page
- `parent`: all of the above put together; `child`: the program a child runs
"""
