"""Work that one manager does for all."""

from __future__ import annotations

from inferflow.serving.manager.duties import Duty

from .office import Office


def test_one_manager_has_the_duty_until_it_gives_it_up_or_falls_silent(office: Office) -> None:
    storage = office.services.storage
    one, two = Duty(storage, office.clock, "one"), Duty(storage, office.clock, "two")
    assert office.run(one.look())
    assert not office.run(two.look())
    for _ in range(5):
        office.clock.advance(5)
        assert office.run(one.look())
        assert not office.run(two.look())
    office.run(one.give_up())
    office.clock.advance(5)
    assert office.run(two.look())
    assert not office.run(one.look())
    office.clock.advance(15)  # two is gone
    assert not two.is_mine
    assert office.run(one.look())


def test_giving_up_what_one_does_not_have_changes_nothing(office: Office) -> None:
    storage = office.services.storage
    one, two = Duty(storage, office.clock, "one"), Duty(storage, office.clock, "two")
    office.run(one.look())
    office.run(two.give_up())
    office.clock.advance(6)
    assert office.run(one.look())
