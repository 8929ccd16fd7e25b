"""The calls people make, written once for an open project and for clients of a server.

`Answer` is `Scores`, or what can be awaited for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from inferflow.engine.request import ScoreRequest

Answer = TypeVar("Answer")


class Asking(ABC, Generic[Answer]):
    """What can be asked. Values may be plain, lists or arrays."""

    @abstractmethod
    def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Answer:
        """Score a request, as an object or in its JSON form."""

    def score(
        self,
        config_id: str,
        *,
        entities: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        features: Mapping[str, Any] | None = None,
        tracking_id: str = "",
        for_user: str = "",
        deadline_ms: float | None = None,
        explain: bool = False,
        **more_entities: Any,
    ) -> Answer:
        """Score targets one by one. Entities are keywords: user="7", product=["1", "2"].

        `for_user` is who the request is for where no entity says it; it decides routing. With
        `explain`, what happens is kept, and `explain()` of the answer tells of this very request.
        """
        return self.answer(
            ScoreRequest(
                config_id,
                {**(entities or {}), **more_entities},
                context or {},
                features or {},
                tracking_id=tracking_id,
                user_id=for_user,
                deadline_ms=deadline_ms,
                explain=explain,
            )
        )

    def score_pairs(
        self,
        config_id: str,
        pairs: Sequence[Sequence[int]],
        *,
        pair_features: Mapping[str, Any] | None = None,
        entities: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        features: Mapping[str, Any] | None = None,
        tracking_id: str = "",
        for_user: str = "",
        deadline_ms: float | None = None,
        explain: bool = False,
        **more_entities: Any,
    ) -> Answer:
        """Score pairs of targets, given as pairs of positions in the target list."""
        return self.answer(
            ScoreRequest(
                config_id,
                {**(entities or {}), **more_entities},
                context or {},
                features or {},
                pairs=pairs,
                slate_features={} if pair_features is None else pair_features,
                tracking_id=tracking_id,
                user_id=for_user,
                deadline_ms=deadline_ms,
                explain=explain,
            )
        )

    def score_slates(
        self,
        config_id: str,
        slates: Sequence[Sequence[int]],
        *,
        slate_features: Mapping[str, Any] | None = None,
        entities: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        features: Mapping[str, Any] | None = None,
        tracking_id: str = "",
        for_user: str = "",
        deadline_ms: float | None = None,
        explain: bool = False,
        **more_entities: Any,
    ) -> Answer:
        """Score groups of targets, given as lists of positions in the target list."""
        return self.answer(
            ScoreRequest(
                config_id,
                {**(entities or {}), **more_entities},
                context or {},
                features or {},
                slates=slates,
                slate_features={} if slate_features is None else slate_features,
                tracking_id=tracking_id,
                user_id=for_user,
                deadline_ms=deadline_ms,
                explain=explain,
            )
        )
