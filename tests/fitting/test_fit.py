"""``nke.fit``: the same seed gives the same model, units do not matter, progress is shown, misuse is refused."""

import inspect
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import nke
from nke.data import Coordinates, Trajectories
from nke.errors import DivergenceError
from nke.fitting import FitResult
from stationary_paths import GRID, MOMENTS, ROWS, STATES, STEP, TRAJECTORIES


def numbers(model):
    """All parameters of a model in one vector."""
    return np.asarray(ravel_pytree([leaf for leaf in jax.tree.leaves(model.generator) if hasattr(leaf, "dtype")])[0])


class TestReproducibility:
    def test_same_seed_same_model(self, stationary_data, moment_fit):
        again = nke.fit(stationary_data, MOMENTS, jumps=False, seed=0, diagnosis=False)
        assert numbers(again.model).tobytes() == numbers(moment_fit.model).tobytes()
        assert again.model.drift(GRID).tobytes() == moment_fit.model.drift(GRID).tobytes()
        for name, curve in moment_fit.history.items():
            np.testing.assert_array_equal(again.history[name].held_out, curve.held_out)

    def test_other_seed_other_model(self, stationary_data, moment_fit):
        other = nke.fit(stationary_data, MOMENTS, jumps=False, seed=1, diagnosis=False)
        assert (numbers(other.model) != numbers(moment_fit.model)).mean() > 0.5  # both start at the same straight line

    def test_data_is_left_alone_and_nothing_is_written(self, capfd):
        states, times = STATES.copy(), STEP * np.arange(ROWS)
        data = Trajectories(states, times)
        nke.fit(data, MOMENTS, jumps=False, diagnosis=False)
        assert states.tobytes() == STATES.tobytes() == data.states.tobytes()
        np.testing.assert_array_equal(times, STEP * np.arange(ROWS))
        np.testing.assert_array_equal(data.times, np.tile(times, (TRAJECTORIES, 1)))
        assert capfd.readouterr() == ("", ""), "there is no terminal"


class TestUnits:
    @pytest.mark.parametrize(("power", "time_power"), [(-40, 40), (40, -40)])
    def test_powers_of_two_change_no_bit(self, moment_fit, power, time_power):
        """2^±40 ≈ 1e±12: scaling by a power of two is exact, so the dimensionless fit is the same fit."""
        scale, unit = 2.0**power, 2.0**time_power
        fitted = nke.fit(Trajectories(STATES * scale, STEP * unit), MOMENTS, jumps=False, diagnosis=False).model
        np.testing.assert_array_equal(fitted.drift(GRID * scale), moment_fit.model.drift(GRID) * (scale / unit))
        np.testing.assert_array_equal(
            fitted.diffusion(GRID * scale), moment_fit.model.diffusion(GRID) * (scale**2 / unit)
        )

    @pytest.mark.parametrize(("scale", "unit"), [(1e-12, 1e12), (1e12, 1e-12)])
    def test_other_units(self, moment_fit, scale, unit):
        """Rounding of the scaled data (1e-16) moves float32 inputs by 6e-8 here and there; 400 steps of training
        let the difference grow, but not beyond 1e-3 of the largest value.
        """
        fitted = nke.fit(Trajectories(STATES * scale, STEP * unit), MOMENTS, jumps=False, diagnosis=False).model
        for name, power in (("drift", 1), ("diffusion", 2)):
            truth = getattr(moment_fit.model, name)(GRID)
            ours = getattr(fitted, name)(GRID * scale) / scale**power * unit
            np.testing.assert_allclose(ours, truth, rtol=0, atol=1e-3 * np.abs(truth).max())

    def test_shifted_origin(self, moment_fit):
        """The origin of states and times is arbitrary: 2^10 keeps almost all digits of the states."""
        moved = Trajectories(STATES + 1024.0, 64.0 + STEP * np.arange(ROWS))
        fitted = nke.fit(moved, MOMENTS, jumps=False, diagnosis=False).model
        truth = moment_fit.model.drift(GRID)
        np.testing.assert_allclose(fitted.drift(GRID + 1024.0), truth, atol=1e-3 * np.abs(truth).max())

    def test_given_coordinates_are_used(self, stationary_data):
        own = Coordinates(np.array([0.5]), np.array([2.0]), 0.1)
        fitted = nke.fit(stationary_data, MOMENTS, jumps=False, coordinates=own, diagnosis=False).model
        assert fitted.coordinates is own
        assert fitted.diffusion(GRID).mean() == pytest.approx(1.0, abs=0.1)


class TestResult:
    def test_parts(self, moment_fit):
        assert isinstance(moment_fit, FitResult)
        assert isinstance(moment_fit.model, nke.Model)
        assert moment_fit.model.names == ("height",)
        assert moment_fit.model.units == ("m",)
        assert moment_fit.model.step == pytest.approx(STEP)

    def test_history(self, moment_fit):
        assert list(moment_fit.history) == ["advection", "diffusion"]
        for curve in moment_fit.history.values():
            assert curve.steps.tolist() == [200, 400]
            assert np.isfinite(curve.train).all()
            assert np.isfinite(curve.held_out).all()
            assert curve.best in (-1, 0, 1)
            if curve.best >= 0:
                assert curve.held_out[curve.best] == curve.held_out.min()

    def test_timings(self, moment_fit):
        timings = moment_fit.timings
        assert set(timings) >= {"packets", "advection", "diffusion", "compilation", "total"}
        assert all(seconds >= 0 for seconds in timings.values())
        stages = timings["packets"] + timings["advection"] + timings["diffusion"]
        assert stages <= timings["total"]
        assert timings["compilation"] <= timings["total"]

    def test_summary(self, moment_fit):
        text = moment_fit.summary(verbose=True)
        for fact in ("height [m]", "step 0.05", "16 neighbours, each time step apart", "400 steps", "held-out loss"):
            assert fact in text, text
        for stage in ("advection", "diffusion", "compilation", "total"):
            assert stage in text

    def test_progress_goes_to_stderr_only(self, stationary_data, capfd):
        nke.fit(stationary_data, MOMENTS, jumps=False, progress=True, diagnosis=False)
        out, err = capfd.readouterr()
        assert out == ""
        assert "advection" in err
        assert "diffusion" in err
        assert "400/400" in err

    @pytest.mark.parametrize("progress", [True, False])
    def test_an_interruption_is_passed_on(self, stationary_data, monkeypatch, progress):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr("nke.fitting.stochastic.held_out_loss", interrupt)
        before = (sys.stdout, sys.stderr)
        with pytest.raises(KeyboardInterrupt):
            nke.fit(stationary_data, MOMENTS, jumps=False, progress=progress, diagnosis=False)
        assert (sys.stdout, sys.stderr) == before, "the progress bar gave the streams back"


class TestRefusals:
    @pytest.mark.parametrize("wrong", [3.0, None, {"states": STATES}])
    def test_other_types(self, wrong):
        plainly = inspect.unwrap(nke.fit)  # without the type checks of the tests, which would come first
        with pytest.raises(TypeError, match=r"nke\.Trajectories.*wrap the arrays"):
            plainly(wrong)

    def test_divergence_is_an_error(self, stationary_data):
        """A loss that is no number ends in a sentence of advice, not in a model."""
        wild = replace(MOMENTS, schedule=replace(MOMENTS.schedule, learning_rate=1e25))
        with pytest.raises(DivergenceError, match="learning rate"):
            nke.fit(stationary_data, wild, jumps=False, diagnosis=False)
