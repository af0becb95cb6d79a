"""Recorded data with everything that real files have, and one tiny fit of it for all commands."""

import numpy as np
import pytest

import nke
import nke.cli.fit
from command_line import run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Irregular, of different lengths, with names of its own and a missing cell."""
    rng, rows = np.random.default_rng(0), ["cell,hours [h],size [µm]"]
    for m in range(12):
        times = np.cumsum(rng.uniform(0.05, 0.15, 15 + m))
        states = nke.systems.OrnsteinUhlenbeck().simulate(1, m, times=times).states[0, :, 0]
        rows += [f"c{m},{t:.6f},{x:.6f}" for t, x in zip(times, states, strict=True)]
    rows[5] = rows[5].rsplit(",", 1)[0] + ","
    path = tmp_path_factory.mktemp("data") / "cells.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def fit_outcome(recorded):
    """What ``nke fit --json`` says about ``cells.nke``, fitted by networks that compile in seconds."""
    sizes = {"width": 4, "depth": 1, "schedule": nke.Schedule(steps=20)}
    small = nke.Likelihood(networks=True, polish=False, noise="constant", **sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nke.cli.fit, "chosen_method", lambda *asked: small)
        outcome = run("fit", recorded, "-o", recorded.with_name("cells.nke"), "--time", "hours", "--no-jumps", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


@pytest.fixture(scope="session")
def fitted(fit_outcome, recorded):
    """The model file of that fit."""
    return recorded.with_name("cells.nke")
