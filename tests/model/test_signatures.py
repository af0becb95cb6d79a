"""What is handed over is understood or refused: plain numbers of one coordinate, results in the place of models."""

import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.errors import InputError, InputTypeError


class TestStatesOfOneCoordinate:
    @pytest.mark.parametrize("name", ["drift", "diffusion", "jump_rate", "total_drift"])
    def test_plain_numbers_are_states(self, name):
        model, x = linear(1), np.array([15.0, 20.0, 30.0])
        found = getattr(model, name)(x.tolist())
        np.testing.assert_array_equal(found, getattr(model, name)(x[:, None]))
        assert getattr(model, name)(15.0).shape == found.shape[1:]

    def test_in_laws_densities_and_simulation(self):
        model, x = linear(1), [0.5, 1.0]
        np.testing.assert_array_equal(model.jump_law(x).means, model.jump_law([[0.5], [1.0]]).means)
        np.testing.assert_array_equal(model.transition(x, 0.1).means, model.transition([[0.5], [1.0]], 0.1).means)
        density = model.log_prob([0.6, 0.9], given=x, step=0.1)
        np.testing.assert_array_equal(density, model.log_prob([[0.6], [0.9]], given=[[0.5], [1.0]], step=0.1))
        assert model.sample(x, times=[0.0, 0.1]).shape == (2, 2, 1)
        assert model.sample(0.5, times=[0.0, 0.1], paths=3).shape == (3, 2, 1)

    def test_of_more_coordinates_they_are_refused(self):
        with pytest.raises(InputError, match=r"expected states of shape \(\.\.\., 2\)"):
            linear(2).drift([15.0, 20.0, 30.0])
        with pytest.raises(InputError, match="add an axis"):
            linear(1).drift(np.zeros((4, 3)))


class TestTwoStates:
    """Start and end look alike: swapped ones would give plausible numbers."""

    def test_are_told_apart_by_name(self):
        system = nke.systems.OrnsteinUhlenbeck()
        for law in (linear(1), system):
            assert law.log_prob([0.6], given=[0.5], step=0.1) != law.log_prob([0.5], given=[0.6], step=0.1)
            for arguments, names in (((0.6, 0.5, 0.1), {}), ((0.6, 0.5), {"step": 0.1}), ((0.6,), {"given": 0.5})):
                with pytest.raises(InputTypeError, match=r"log_prob\(x_next, given=x, step=step\)"):
                    law.log_prob(*arguments, **names)

    def test_what_is_measured_and_what_is_true_have_names(self):
        for measure in (nke.evaluation.relative_error, nke.evaluation.path_metrics):
            with pytest.raises(TypeError, match="positional"):
                measure(np.ones((2, 3, 1)), np.ones((2, 3, 1)))

    def test_a_state_in_the_place_of_the_step_is_named(self):
        with pytest.raises(InputError, match=r"expected one step, or one for each state, \(\); but got \(2,\)"):
            linear(1).transition(0.1, [15.0, 20.0])


class TestResults:
    def test_stand_for_their_models(self, small_fit):
        result, data = small_fit["result"], small_fit["data"]
        assert nke.evaluate(result, data) == nke.evaluate(result.model, data)
        assert nke.diagnose(result, data) == nke.diagnose(result.model, data)

    def test_anything_else_is_named(self, small_fit):
        result, data = small_fit["result"], small_fit["data"]
        with pytest.raises(InputTypeError, match=r"but got Trajectories; model and data may be swapped"):
            nke.evaluate(data, result)
        with pytest.raises(InputTypeError, match="expected a model or the result of a fit, but got str"):
            nke.diagnose("law.nke", data)
        with pytest.raises(InputTypeError, match="but got FitResult"):
            nke.evaluate(result.model, result)


def test_an_evaluation_prints_score_and_diagnosis(small_fit):
    found = nke.evaluate(small_fit["result"], small_fit["data"])
    score, paths, _, diagnosis = str(found).splitlines()
    assert score.startswith(f"score         {found.score:.4f} ± {found.error:.4f} nats per transition")
    assert "Wasserstein" in paths
    assert diagnosis == "diagnosis     nothing speaks against it"
