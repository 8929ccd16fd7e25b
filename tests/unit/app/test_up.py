"""How a project is set that runs beside a fleet of its own."""

from __future__ import annotations

from inferflow.app.auth_settings import AuthSettings
from inferflow.app.gateway_settings import GatewaySettings
from inferflow.app.manager_settings import FleetSettings
from inferflow.app.setting_values import Secret
from inferflow.app.settings import Settings
from inferflow.app.up import beside_fleet

FLEET = ("127.0.0.1:1", "ifk_of_this_run")


def test_on_this_machine_alone_nobody_is_asked() -> None:
    found = beside_fleet(Settings(), *FLEET)
    assert set(found) == {"fleet"}
    assert found["fleet"].api_key.get_secret_value() == "ifk_of_this_run"


def test_where_callers_must_be_known_keys_of_the_fleet_are_good() -> None:
    for settings in (
        Settings(gateway=GatewaySettings(bind="0.0.0.0")),
        Settings(auth=AuthSettings(keys_file="keys.json")),
    ):
        found = beside_fleet(settings, *FLEET)
        assert found["auth"].manager
        assert found["auth"].keys_file == settings.auth.keys_file
        assert found["fleet"].manager == ("127.0.0.1:1",)


def test_what_the_settings_say_of_managers_stays() -> None:
    fleet = FleetSettings(api_key=Secret("mine"), manager=("there:1",))
    settings = Settings(fleet=fleet, auth=AuthSettings(manager=True))
    assert beside_fleet(settings, *FLEET) == {"fleet": fleet}
