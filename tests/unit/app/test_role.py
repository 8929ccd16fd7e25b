"""What a serving process tells about its reloads."""

from __future__ import annotations

from pathlib import Path

from inferflow.app.role import Role, open_role

MEMORY = {"feature_backend": "memory"}


def shown(role: Role, name: str) -> str:
    lines = role.telemetry.render().decode().splitlines()
    return next(line.rsplit(" ", 1)[1] for line in lines if line.startswith(name))


def write(path: Path, text: str) -> None:
    """In one step, for the role watches."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def test_a_config_that_is_mended_to_what_it_was_has_no_problems_any_more(echo: Path) -> None:
    path = echo / "configs/echo.json"
    good = path.read_text()
    with open_role(echo, MEMORY) as role:
        write(path, "{}")
        role.reloader.check_now()
        assert shown(role, "inferflow_plan_problems") != "0.0"
        assert shown(role, "inferflow_plan_rejections_total") == "1.0"
        write(path, good)
        role.reloader.check_now()
        assert shown(role, "inferflow_plan_problems") == "0.0"
        assert shown(role, "inferflow_plan_reloads_total") == "2.0"


def test_a_config_that_stays_bad_is_refused_once_however_often_others_change(echo: Path) -> None:
    path = echo / "configs/echo.json"
    good = path.read_text()
    with open_role(echo, MEMORY) as role:
        write(path, "{}")
        role.reloader.check_now()
        for number in range(3):
            write(echo / f"configs/other{number}.json", good)
            role.reloader.check_now()
        rejections = [
            line
            for line in role.telemetry.render().decode().splitlines()
            if line.startswith('inferflow_plan_rejections_total{config="echo"')
        ]
        assert [line.rsplit(" ", 1)[1] for line in rejections] == ["1.0"]


def test_who_answers_no_calls_has_no_cache_to_show_and_keeps_no_model_loaded(
    starter: Path,
) -> None:
    with open_role(starter, MEMORY, answers=False) as role:
        assert b"inferflow_cache_items" not in role.telemetry.render()
        assert role.embedded.settings.model_idle_unload is not None
        assert role.settings.model_idle_unload is None
    with open_role(starter, MEMORY) as role:
        assert b"inferflow_cache_items" in role.telemetry.render()
