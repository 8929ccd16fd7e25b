"""How log lines look and where they go.

Code logs with the standard `logging` module: the event's name as the message, its facts as
`extra`. Here a line gets its time, its level and the facts of the request it belongs to, and is
written as JSON, or as text when a person is watching. Feature values, keys and ids are kept out
of it, and so are the messages of exceptions, which may quote them, unless they are asked for.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from inferflow.errors import InvalidInput, MissingExtra
from inferflow.telemetry.calls import current_call
from inferflow.telemetry.levels import TRACE, level_number
from inferflow.tracing import current_span

OWN = "inferflow"
HIDDEN = frozenset(
    {
        "context",
        "entities",
        "entity_ids",
        "features",
        "id",
        "ids",
        "key",
        "keys",
        "tracking_id",
        "user",
        "user_id",
        "value",
        "values",
    }
)
"""Facts that are, or may quote, feature values, keys or ids."""

Facts = MutableMapping[str, Any]


class Logs:
    """Log output as it was set up. Closing it puts things back as they were."""

    def __init__(self, handler: logging.Handler, level: int) -> None:
        self._handler = handler
        root, own = logging.getLogger(), logging.getLogger(OWN)
        self._before = (root.level, own.level)
        logging.addLevelName(TRACE, "TRACE")
        root.addHandler(handler)
        # Other people's libraries are heard when they warn; their details are seldom ours.
        root.setLevel(max(level, logging.WARNING))
        own.setLevel(level)
        logging.captureWarnings(True)

    def close(self) -> None:
        global _current  # noqa: PLW0603  # logging is global: there is one set-up per process
        root = logging.getLogger()
        if self._handler not in root.handlers:
            return
        root.removeHandler(self._handler)
        self._handler.close()
        root.setLevel(self._before[0])
        logging.getLogger(OWN).setLevel(self._before[1])
        logging.captureWarnings(False)
        _current = None


_current: Logs | None = None


def setup_logs(
    level: str = "info",
    *,
    stream: TextIO | None = None,
    file: str | Path | None = None,
    json: bool | None = None,
    values: bool = False,
    file_mb: float = 100.0,
    files_kept: int = 5,
) -> Logs:
    """Write log lines to a file, else to a stream, else to standard error. A second call takes
    the place of the first. `json` unset: text for a terminal, JSON for anything else."""
    global _current  # noqa: PLW0603  # as above
    number = level_number(level)
    handler, is_terminal = _handler(stream, file, file_mb, files_kept)
    is_json = not is_terminal if json is None else json
    handler.setFormatter(_formatter(is_json, values=values, colours=is_terminal))
    if _current is not None:
        _current.close()
    _current = Logs(handler, number)
    return _current


def _handler(
    stream: TextIO | None, file: str | Path | None, file_mb: float, files_kept: int
) -> tuple[logging.Handler, bool]:
    if file is None or str(file) == "":
        stream = sys.stderr if stream is None else stream
        return logging.StreamHandler(stream), stream.isatty()
    try:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        return (
            RotatingFileHandler(
                file,
                maxBytes=int(file_mb * 1024 * 1024),
                backupCount=files_kept,
                encoding="utf-8",
            ),
            False,
        )
    except OSError as refused:
        raise InvalidInput(f"log file {file}: {refused.strerror}") from refused


def _formatter(is_json: bool, *, values: bool, colours: bool) -> logging.Formatter:
    try:
        import orjson
        import structlog
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="structured logs") from missing

    def as_json(facts: Any, **_: Any) -> str:
        return orjson.dumps(facts, default=str, option=orjson.OPT_NON_STR_KEYS).decode()

    renderer: Any = structlog.processors.JSONRenderer(serializer=as_json)
    if not is_json:
        renderer = structlog.dev.ConsoleRenderer(
            colors=colours, exception_formatter=structlog.dev.plain_traceback
        )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.ExtraAdder(),
            _with_call,
            _without_leftovers,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *([structlog.processors.format_exc_info] if values else [_without_values]),
            renderer,
        ],
    )


def _with_call(_logger: Any, _method: str, facts: Facts) -> Facts:
    """A line with the call and the trace it belongs to."""
    call = current_call()
    if call is not None:
        facts["request_id"] = call.request_id
        if call.config_id:
            facts.setdefault("config_id", call.config_id)
    span = current_span()
    if span is not None:
        facts["trace_id"] = f"{span.context.trace_id:032x}"
        facts["span_id"] = f"{span.context.span_id:016x}"
    return facts


def _without_leftovers(_logger: Any, _method: str, facts: Facts) -> Facts:
    """A line without what another handler left on the record when it wrote it."""
    facts.pop("message", None)
    facts.pop("asctime", None)
    return facts


def _without_values(_logger: Any, _method: str, facts: Facts) -> Facts:
    """A line without what it must not tell: hidden facts, and what an exception quotes."""
    for name in HIDDEN & facts.keys():
        facts[name] = "(hidden)"
    raised = facts.pop("exc_info", None)
    if raised is True:
        raised = sys.exc_info()
    if isinstance(raised, tuple) and raised[0] is not None:
        facts["exception"] = raised[0].__name__
        facts["at"] = _places(raised[2])
    return facts


def _places(trace: TracebackType | None) -> list[str]:
    """Where an exception went through, innermost last."""
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return places
