"""A fleet that goes on where the version before left off: its registry, its keys, its models."""

from __future__ import annotations

from pathlib import Path

from inferflow.app.backup import restore_backup

from ..contract.manager.kept_registry import ADMIN_KEY, KEPT
from .fleet_process import FleetRun

PREVIOUS = sorted(KEPT.glob("*.tar.gz"))[-2]


def test_a_manager_started_on_the_state_of_the_version_before_serves_its_models(
    tmp_path: Path,
) -> None:
    restore_backup(PREVIOUS, tmp_path / "manager")
    fleet = FleetRun(tmp_path)
    try:
        fleet.add_manager()
        fleet.add_worker("w2")  # the registry knows a w1
        assert fleet.infer("ranker", 2, 3) == [4, 6]
        with fleet.admin(ADMIN_KEY) as admin:
            trail = [(each["action"], each["subject"]) for each in admin.audit(model="ranker")]
            assert ("version published", "ranker@2") in trail
            usage = [each["requests"] for each in list(admin.keys()) if each["name"] == "first"]
            assert max(usage) >= 7
            assert admin.audit(model="nothing") == []
    finally:
        fleet.close()
    assert "registry_migrated" in (tmp_path / "manager" / "manager.log").read_text()
