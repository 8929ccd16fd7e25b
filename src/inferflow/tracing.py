"""The trace a piece of work belongs to, and its spans: when calls and steps began and ended.

A process that traces has one `Tracer` in use. Whoever answers calls begins a span for each of them
(`Tracer.begin`); what is done on its behalf, in its task or in one it started, finds that span with
`current_span()` and makes children of it. Where nobody traces there is no span, and asking for it
is all that is done.

Whether a trace is kept is decided once, where it begins, and travels with it: what is not kept
still has its ids, for others and for log lines, and costs no more than that. A span is a plain
value; who sends it away is handed in. Contexts travel as the W3C has them, in `traceparent` and
`tracestate`.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"

Fact = str | int | float | bool
Kind = Literal["server", "client", "producer", "internal"]
Headers = tuple[tuple[str, str], ...]

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_LONGEST_STATE = 512
"""Longer ones are left out, as the recommendation allows."""
_IDS = random.Random()


@dataclass(frozen=True, slots=True)
class TraceContext:
    """What one process tells another about a trace."""

    trace_id: int
    span_id: int
    is_sampled: bool
    state: str = ""
    """What others keep there; passed on as it came."""

    def headers(self) -> Headers:
        parent = f"00-{self.trace_id:032x}-{self.span_id:016x}-0{int(self.is_sampled)}"
        told = ((TRACEPARENT, parent),)
        return (*told, (TRACESTATE, self.state)) if self.state else told


def read_context(parent: str, state: str = "") -> TraceContext | None:
    """The context that `traceparent` and `tracestate` tell of; None when they tell of none."""
    found = _PARENT.fullmatch(parent)
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    trace_id, span_id = int(trace, 16), int(span, 16)
    if version == "ff" or not trace_id or not span_id or (more and version == "00"):
        return None
    is_sane = len(state) <= _LONGEST_STATE and state.isascii() and state.isprintable()
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & 1), state if is_sane else "")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which traces are kept: a share of those that begin here, and for others what their caller
    has decided. The share goes by the trace's id, so that all who ask agree."""

    share: float = 1.0
    heeds_callers: bool = True

    def keeps(self, trace_id: int, parent: TraceContext | None) -> bool:
        if parent is not None and self.heeds_callers:
            return parent.is_sampled
        return trace_id & (2**64 - 1) < round(self.share * 2**64)


@dataclass(frozen=True, slots=True)
class _Start:
    """One moment on two clocks: one that people read, and one that never jumps."""

    wall_ns: int
    clock_s: float

    def at(self, clock_s: float) -> int:
        return self.wall_ns + int((clock_s - self.clock_s) * 1e9)


class Span:
    """One call or one step. Ended once, by whoever began it."""

    __slots__ = (
        "_start", "_steps", "_tracer", "context", "end_ns", "error", "facts", "kind", "name",
        "parent_id", "start_ns",
    )  # fmt: skip

    def __init__(
        self,
        tracer: Tracer,
        context: TraceContext,
        parent_id: int,
        name: str,
        kind: Kind,
        start: _Start,
        start_ns: int,
    ) -> None:
        self._tracer = tracer
        self._start = start
        self._steps: dict[str, int] | None = None
        self.context = context
        self.parent_id = parent_id
        """0 when it has none."""
        self.name = name
        self.kind: Kind = kind
        self.start_ns = start_ns
        """Since the epoch, as `end_ns` is."""
        self.end_ns = 0
        self.facts: dict[str, Fact] = {}
        self.error: str | None = None
        """Why it failed; None when it did not. No text of a request, which may quote values."""

    @property
    def is_kept(self) -> bool:
        return self.context.is_sampled

    def headers(self) -> Headers:
        """What tells another process that it works for this span."""
        return self.context.headers()

    def child(self, name: str, kind: Kind) -> Span:
        """A span of work for this one, or for the step of it that is running; this span itself
        where nothing is kept."""
        if not self.is_kept:
            return self
        step = running_step.get()
        parent_id = self.context.span_id if step is None else self._id_of_step(step)
        return self._new(name, kind, self._tracer.clock(), self._tracer.new_id(64), parent_id)

    def step(self, name: str, began_s: float, duration_s: float) -> Span:
        """A step that has run, by the tracer's clock; to be ended with `finish`."""
        span = self._new(name, "internal", began_s, self._id_of_step(name), self.context.span_id)
        span.end_ns = self._start.at(began_s + duration_s)
        return span

    def end(self, error: str | None = None) -> None:
        """It has ended now. What is kept goes to whoever sends it away."""
        if self.is_kept:
            self.end_ns = self._start.at(self._tracer.clock())
            self.finish(error)

    def finish(self, error: str | None = None) -> None:
        """The same for a span that knows when it ended."""
        self.error = error
        self._tracer.sink(self)

    def _id_of_step(self, name: str) -> int:
        """The same each time: calls of a step are under way before its span is made."""
        if self._steps is None:
            self._steps = {}
        found = self._steps.get(name)
        if found is None:
            found = self._steps[name] = self._tracer.new_id(64)
        return found

    def _new(self, name: str, kind: Kind, began_s: float, span_id: int, parent_id: int) -> Span:
        here = self.context
        context = TraceContext(here.trace_id, span_id, True, here.state)
        return Span(
            self._tracer, context, parent_id, name, kind, self._start, self._start.at(began_s)
        )


@dataclass(frozen=True, slots=True)
class Tracer:
    """Begins spans, and hands those that ended to `sink`, which is called from any thread and must
    not wait."""

    sink: Callable[[Span], None]
    sampling: Sampling = field(default_factory=Sampling)
    clock: Callable[[], float] = time.perf_counter
    """The engine's clock of steps."""
    wall_ns: Callable[[], int] = time.time_ns
    bits: Callable[[int], int] = _IDS.getrandbits

    def begin(self, name: str, kind: Kind, parent: TraceContext | None) -> Span:
        """A span of this process, under whatever span of another it works for."""
        trace_id = self.new_id(128) if parent is None else parent.trace_id
        is_kept = self.sampling.keeps(trace_id, parent)
        state = "" if parent is None else parent.state
        context = TraceContext(trace_id, self.new_id(64), is_kept, state)
        start = _Start(self.wall_ns(), self.clock())
        parent_id = 0 if parent is None else parent.span_id
        return Span(self, context, parent_id, name, kind, start, start.wall_ns)

    def new_id(self, bits: int) -> int:
        return self.bits(bits) or 1


running_step: ContextVar[str | None] = ContextVar("inferflow_step", default=None)
"""The step of a plan that the current task runs, where it has one of its own."""
_current: ContextVar[Span | None] = ContextVar("inferflow_span", default=None)
_in_use: list[Tracer] = []


def current_span() -> Span | None:
    return _current.get()


def kept_span() -> Span | None:
    """The current span, where its trace is kept."""
    span = _current.get()
    return span if span is not None and span.is_kept else None


def enter_span(span: Span) -> None:
    """What the current task does from now on is done for this span."""
    _current.set(span)


class calling:
    """`with calling("redis MGET", …):` a call to another process, as a span of whatever it is made
    for; nothing at all where that is not kept. An error is told by its class."""

    __slots__ = ("_facts", "_name", "_span")

    def __init__(self, name: str, facts: Mapping[str, Fact]) -> None:
        self._name = name
        self._facts = facts

    def __enter__(self) -> None:
        caller = kept_span()
        self._span = None if caller is None else caller.child(self._name, "client")

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._span is not None:
            self._span.facts.update(self._facts)
            self._span.end(None if failure is None else failure.__name__)


def use_tracer(tracer: Tracer) -> Callable[[], None]:
    """Servers that start from now on trace their calls; until what this returns is called."""
    _in_use.append(tracer)
    return lambda: _in_use.remove(tracer)


def tracer_in_use() -> Tracer | None:
    """The tracer of this process; there is none unless its settings ask for it."""
    return _in_use[-1] if _in_use else None
