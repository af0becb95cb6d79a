"""What the user says about columns: names, contradictions, and how an angle is recorded."""

import numpy as np
import pytest

from nke.data import Trajectories
from nke.data.transforms import Log, Logit, Periodic
from nke.errors import InputError, InputTypeError
from nke.fitting.known_columns import known_columns

TURN = 2 * np.pi


def recorded(angle) -> Trajectories:
    states = np.stack([np.linspace(1, 2, len(angle)), angle, np.linspace(0.1, 0.9, len(angle))], axis=1)
    return Trajectories(states, 0.1, names=["u", "theta", "share"])


ROUND = np.linspace(0, 20, 101)
DATA = recorded(ROUND)


def test_transforms_by_name():
    found = known_columns(DATA, ["u"], ["theta"], {"share": (0, 1)})
    assert found == {"u": Log(), "theta": Periodic(), "share": Logit(0.0, 1.0)}
    assert known_columns(DATA, [], None, None) == {}
    assert known_columns(DATA, None, {"theta": 4.0}, None) == {"theta": Periodic(4.0)}


@pytest.mark.parametrize(
    ("angle", "start"),
    [
        (ROUND, None),
        (np.mod(ROUND + np.pi, TURN) - np.pi, -np.pi),
        (np.mod(ROUND, TURN), 0.0),
        (np.sin(ROUND), None),
    ],
    ids=["counts turns", "wrapped around zero", "wrapped from zero", "never crosses"],
)
def test_how_an_angle_is_recorded(angle, start):
    found = known_columns(recorded(angle), None, ["theta"], None)["theta"]
    assert found.start == (None if start is None else pytest.approx(start))


def test_an_interval_of_its_own():
    angle = np.mod(ROUND - 1, TURN) + 1
    assert known_columns(recorded(angle), None, ["theta"], None)["theta"].start == pytest.approx(angle.min())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (([" u"], None, None), "positive names ' u', but the coordinates are 'u', 'theta', 'share'"),
        ((None, ["phi"], None), "periodic names 'phi'"),
        ((["u"], None, {"u": (0, 9)}), "bounds names 'u', which is also said to be log"),
        ((None, None, {"share": (0,)}), "expected two bounds for 'share'"),
        ((None, {"theta": 0.0}, None), "positive finite period"),
    ],
)
def test_demands_that_are_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        known_columns(DATA, *options)


def test_positions_and_velocities_stay_as_they_are():
    with pytest.raises(InputError, match="kinetic says that it is a position or a velocity"):
        known_columns(DATA, ["u"], None, None, {"theta": "u"})
    assert known_columns(DATA, None, ["theta"], None, {"theta": "u"}) == {"theta": Periodic()}


def test_one_text_is_no_list_of_names():
    with pytest.raises(InputTypeError, match=r"positive as a list of names.*say \['u'\]"):
        known_columns(DATA, "u", None, None)
