"""Who changed what, as lines of the log under a name of their own: `inferflow.audit`.

A fleet's manager also keeps such entries in its registry, and config stores keep who pushed each
version. These lines are for whoever collects logs, of every role alike.
"""

from __future__ import annotations

import logging

log = logging.getLogger("inferflow.audit")


def audited(action: str, *, by: str, subject: str = "", outcome: str = "ok") -> None:
    """`by` is the id of a key, or the name of an author; never anything that proves who it is.
    `outcome` is `ok`, or why nothing was changed."""
    facts = {"action": action, "by": by, "subject": subject, "outcome": outcome}
    log.log(logging.INFO if outcome == "ok" else logging.WARNING, "audit", extra=facts)
