"""Writes the Grafana dashboards: `python deploy/observability/dashboards.py`.

What a dashboard shows is in `grafana/<name>.yaml`: rows of panels, each a title, a unit and queries
by legend; where an alert watches the same, its `threshold` as a line and its `alerts` as links to
their runbooks. The JSON that Grafana wants around that is made here, so that a changed query is
one line of a diff.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

HOME = Path(__file__).parent / "grafana"
FOLDER = HOME / "dashboards"
_WIDTH = 24
_BESIDE = 3
_HEIGHT = 8
_SOURCE = {"type": "prometheus", "uid": "prometheus"}
_RUNBOOKS = "http://127.0.0.1:8000/operate/runbooks.html"
"""Where `make docs` shows them; whoever looks at a dashboard can name another place."""


def quantiles(of: str, by: str, where: str = "") -> dict[str, str]:
    """The middle, the slow and the slowest of a histogram, per label or several."""
    buckets = f"sum by ({by}, le) (rate({of}_bucket{where}[$__rate_interval]))"
    legend = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return {
        f"{legend} p{share}": f"histogram_quantile(0.{share}, {buckets})" for share in (50, 95, 99)
    }


def field_json(panel: Mapping[str, Any]) -> dict[str, Any]:
    """How numbers are shown. What may be below 0 says so."""
    defaults: dict[str, Any] = {"unit": panel["unit"], "min": panel.get("min", 0)}
    if "threshold" in panel:
        below, above = ("red", "green") if panel.get("low_is_bad") else ("green", "red")
        steps = [
            {"color": below, "value": None},
            {"color": above, "value": panel["threshold"]},
        ]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        defaults["custom"] = {"thresholdsStyle": {"mode": "dashed"}}
    return {"defaults": defaults, "overrides": []}


def links_json(panel: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"title": f"Runbook: {alert}", "url": f"${{runbooks}}#{alert.lower()}", "targetBlank": True}
        for alert in panel.get("alerts", ())
    ]


def panel_json(panel: Mapping[str, Any], number: int, place: Mapping[str, int]) -> dict[str, Any]:
    queries = panel.get("queries") or quantiles(**panel["quantiles"])
    return {
        "id": number,
        "type": "timeseries",
        "title": panel["title"],
        "description": panel.get("about", ""),
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": field_json(panel),
        "links": links_json(panel),
        "options": {"legend": {"displayMode": "list"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + letter), "expr": query, "legendFormat": legend}
            for letter, (legend, query) in enumerate(queries.items())
        ],
    }


def panels_json(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Three panels beside each other, each row below its title."""
    made: list[dict[str, Any]] = []
    y = 0
    width = _WIDTH // _BESIDE
    for row in rows:
        place = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
        made.append({"id": len(made) + 1, "type": "row", "title": row["title"], "gridPos": place})
        y += 1
        for start in range(0, len(row["panels"]), _BESIDE):
            for column, panel in enumerate(row["panels"][start : start + _BESIDE]):
                place = {"x": column * width, "y": y, "w": width, "h": _HEIGHT}
                made.append(panel_json(panel, len(made) + 1, place))
            y += _HEIGHT
    return made


def choice_json(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def runbooks_json() -> dict[str, Any]:
    current = {"text": _RUNBOOKS, "value": _RUNBOOKS}
    return {
        "name": "runbooks",
        "label": "Runbooks at",
        "type": "textbox",
        "query": _RUNBOOKS,
        "current": current,
    }


def dashboard_json(dashboard: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "uid": dashboard["uid"],
        "title": dashboard["title"],
        "tags": ["inferflow"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [
            {
                "title": "Inferflow",
                "type": "dashboards",
                "tags": ["inferflow"],
                "asDropdown": True,
                "includeVars": False,
                "keepTime": True,
            }
        ],
        "templating": {
            "list": [
                *(choice_json(*each) for each in dashboard["choices"].items()),
                runbooks_json(),
            ]
        },
        "panels": panels_json(dashboard["rows"]),
    }


def written() -> dict[str, str]:
    """Name of a file → what it says."""
    boards = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(HOME.glob("*.yaml"))]
    return {
        f"{each['uid']}.json": json.dumps(dashboard_json(each), indent=1) + "\n" for each in boards
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in written().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
