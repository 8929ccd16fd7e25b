"""HTTP routes that show what is inside are for callers with the permission `view`.

Health and metrics are not among them: probes and scrapers have no keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from inferflow.access import Credentials, Gate, OpenGate, Permission
from inferflow.api.http import Reply, TreeRoute, asking_host, certificate_names, shown_key
from inferflow.api.status import status_of, text_of
from inferflow.errors import InferflowError


def guarded_trees(trees: Mapping[str, TreeRoute], gate: Gate | OpenGate) -> dict[str, TreeRoute]:
    """The same routes behind a gate."""
    if isinstance(gate, OpenGate):
        return dict(trees)
    return {folder: _guarded(tree, gate) for folder, tree in trees.items()}


def _guarded(tree: TreeRoute, gate: Gate) -> TreeRoute:
    async def route(target: str) -> Reply:
        try:
            shown = Credentials(shown_key(), certificate=certificate_names(), source=asking_host())
            await gate.admit(shown, needs=Permission.VIEW)
        except InferflowError as refused:
            gate.refusals.note_unknown(refused)
            return Reply(f"{text_of(refused)}\n".encode(), status_of(refused).http)
        answer = tree(target)
        return answer if isinstance(answer, Reply) else await answer

    return route
