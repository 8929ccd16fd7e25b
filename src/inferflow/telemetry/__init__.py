"""What an operator sees: metrics, logs and traces, made of the plain facts the engine hands out.

- `settings`: what can be chosen
- `table`: every metric, by its Prometheus and its StatsD name; `reference` prints it for the docs
- `tally`: counts what the engine reports; `prometheus` shows it, `merging` adds up processes
- `statsd`: sends the same facts to Telegraf or a Datadog agent
- `logs`: how log lines look and where they go; `eventlog`: which events become lines, `accesslog`:
  which calls do; `calls`: the call a line belongs to
- `audit`: who changed what
- `tracing`: spans for a collector; `tracing_steps`, of steps; `tracing_otlp`, sent away
- `drift`: whether columns still look as they did; `drift_observer`, of answers; `drift_webhook`,
  who is told
- `forecast`: the load to be expected, as a metric
- `telemetry`: all of it for one process
- `worker_table`, `worker_tally`: the metrics of a worker, which runs no plans
- `manager_table`, `manager_tally`: those of a manager, and of the fleet it knows
- `door_table`, `door_tally`: those of every role's door: who was turned away, certificates

Anything below may log with the standard `logging` module: an event's name as the message, its
facts as `extra`. No package has to import this one to be seen.
"""

from inferflow.telemetry.settings import TelemetrySettings
from inferflow.telemetry.telemetry import Telemetry, open_logs, open_telemetry

__all__ = ["Telemetry", "TelemetrySettings", "open_logs", "open_telemetry"]
