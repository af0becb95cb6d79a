"""Forecasts in the user's units: moments, quantiles, probabilities, scores, from every kind of start."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import lognorm, multivariate_normal, norm

import nke
from nke.data.transforms import Log, Logit, Periodic
from nke.mixtures import GaussianMixture
from nke.model import DataRegion
from nke.operators import Advection, Diffusion, Generator
from nke.systems import HarmonicOscillator, OrnsteinUhlenbeck
from true_models import true_model

TIMES = np.array([0.5, 1.5])
OU_UNITS = nke.Coordinates([3.0], [0.5], 0.25)


def model_of(generator, coordinates, names=("x",)):
    return nke.Model(generator, coordinates, 0.1, names, ("",) * len(names))


@pytest.fixture(scope="module")
def relaxing():
    """dx = 2(1 − x) dt + dW/2 in other units."""
    return true_model(OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5), OU_UNITS)


def relaxed(x0, variance=0.0):
    """Its mean and variance."""
    fade = np.exp(-2 * TIMES)
    return 1 + (x0 - 1) * fade, 0.0625 * (1 - fade**2) + variance * fade**2


def test_everything_of_a_gaussian(relaxing):
    forecast = relaxing.forecast([3.0], TIMES, components=4)
    mean, variance = relaxed(3.0)
    law = norm(mean, np.sqrt(variance))
    np.testing.assert_allclose(forecast.mean[:, 0], mean, rtol=1e-5)
    np.testing.assert_allclose(forecast.covariance[:, 0, 0], variance, rtol=1e-4)
    np.testing.assert_allclose(forecast.quantile(0.9)[:, 0], law.ppf(0.9), rtol=1e-4)
    np.testing.assert_allclose(forecast.quantile([0.05, 0.5])[..., 0], law.ppf([[0.05], [0.5]]), rtol=1e-4)
    np.testing.assert_allclose(forecast.exceedance(1.2), law.sf(1.2), rtol=1e-3)
    np.testing.assert_allclose(forecast.exceedance(1.2, direction=[1.0]), law.sf(1.2), rtol=1e-3)
    np.testing.assert_allclose(forecast.probability([0.9], [1.2]), law.cdf(1.2) - law.cdf(0.9), rtol=1e-3)
    x = np.linspace(0.5, 2.0, 7)
    np.testing.assert_allclose(forecast.density(x), law.pdf(x[:, None]).T, rtol=1e-3)
    np.testing.assert_allclose(forecast.log_prob([[1.1], [0.8]]), law.logpdf([1.1, 0.8]), rtol=1e-3)
    assert np.isnan(forecast.log_prob([[np.nan], [1.0]])).tolist() == [True, False]
    assert forecast.outside is None
    for mixture, m in zip(forecast.mixtures, mean, strict=True):
        assert mixture.weights.sum() == pytest.approx(1, abs=1e-12)
        assert mixture.mean[0] == pytest.approx(m, rel=1e-5)


def test_every_kind_of_start(relaxing):
    cloud = np.random.default_rng(0).normal(2.0, 0.3, size=(300, 1))
    mean, variance = relaxed(cloud.mean(), cloud.var())
    gaussian = GaussianMixture([1.0], [cloud.mean(axis=0)], [[[cloud.var()]]])
    for start in (cloud, gaussian):
        forecast = relaxing.forecast(start, TIMES, components=16)
        np.testing.assert_allclose(forecast.mean[:, 0], mean, rtol=1e-5)
        np.testing.assert_allclose(forecast.covariance[:, 0, 0], variance, rtol=1e-4)
    path = nke.Trajectories([[5.0], [4.0], [3.0], [np.nan]], 0.1)
    last = relaxing.forecast(path, TIMES, components=4)
    np.testing.assert_array_equal(last.mean, relaxing.forecast([3.0], TIMES, components=4).mean)


def test_a_batch_of_starts_is_a_forecast_from_each(relaxing):
    starts = np.array([[3.0], [0.0], [1.0]])
    forecast = relaxing.forecast(GaussianMixture.point(starts), TIMES, components=4)
    assert (forecast.mean.shape, forecast.quantile([0.1, 0.9]).shape) == ((2, 3, 1), (2, 2, 3, 1))
    assert forecast.probability(lower=[0.5]).shape == (2, 3)
    assert forecast.density([0.0, 1.0]).shape == (2, 3, 2)
    assert forecast.log_prob(np.ones((2, 3, 1))).shape == (2, 3)
    for i, x0 in enumerate(starts[:, 0]):
        np.testing.assert_allclose(forecast.mean[:, i, 0], relaxed(x0)[0], rtol=1e-5)


def test_at_time_zero_it_is_the_start(relaxing):
    forecast = relaxing.forecast([3.0], [0.0, 0.5], components=4)
    np.testing.assert_allclose(forecast.mean[0], 3.0)
    np.testing.assert_allclose(forecast.quantile(0.2)[0], 3.0, atol=1e-9)
    with pytest.raises(nke.errors.InputError, match="no density"):
        forecast.density([3.0])


def test_the_oscillator_has_a_singular_start_and_its_own_transition():
    system = HarmonicOscillator()
    model = true_model(system)
    forecast = model.forecast([1.0, 0.0], TIMES, components=8)
    for i, step in enumerate(TIMES):
        mixture = forecast.mixtures[i]
        y = np.asarray(mixture.mean) + np.array([[0.0, 0.0], [0.1, -0.2]])
        truth = system.log_prob(y, given=np.broadcast_to([1.0, 0.0], y.shape), step=step)
        np.testing.assert_allclose(mixture.log_prob(y), truth, atol=0.01)
    law = multivariate_normal(forecast.mean[1], forecast.covariance[1])
    box = law.cdf([0.5, 0.5], lower_limit=[-0.5, -0.2])
    assert forecast.probability([-0.5, -0.2], [0.5, 0.5])[1] == pytest.approx(box, abs=1e-3)


def test_a_price_is_exact_in_logarithms():
    """dS = 0.1 S dt + 0.3 S dW learned as log S."""
    equation = Generator(
        Advection(lambda z: jnp.full_like(z, (0.1 - 0.045) / 0.5)),
        Diffusion(lambda z: jnp.full((1, 1), 0.3 / 0.5, z.dtype)),
    )
    model = model_of(equation, nke.Coordinates([0.2], [0.5], 1.0, [Log()]), ("price",))
    forecast = model.forecast([2.0], TIMES, components=4)
    law = lognorm(0.3 * np.sqrt(TIMES), scale=2 * np.exp(0.055 * TIMES))
    np.testing.assert_allclose(forecast.mean[:, 0], 2 * np.exp(0.1 * TIMES), rtol=1e-6)
    np.testing.assert_allclose(forecast.covariance[:, 0, 0], law.var(), rtol=1e-5)
    np.testing.assert_allclose(forecast.quantile(0.95)[:, 0], law.ppf(0.95), rtol=1e-5)
    np.testing.assert_allclose(forecast.density([1.0, 3.0], "price"), law.pdf([[1.0], [3.0]]).T, rtol=1e-4)
    np.testing.assert_allclose(forecast.log_prob([[1.5], [2.5]]), law.logpdf([1.5, 2.5]), rtol=1e-4)
    np.testing.assert_allclose(forecast.exceedance(2.5, "price"), law.sf(2.5), rtol=1e-4)
    assert forecast.density([-1.0, 1.0])[:, 0].tolist() == [0.0, 0.0]
    assert forecast.probability([0.0], [np.inf]).tolist() == [1.0, 1.0]
    start = GaussianMixture([1.0], [[2.0]], [[[0.04]]])
    spread = model.forecast(start, TIMES, components=4)
    second = (0.04 + 4.0) * np.exp((0.2 + 0.09) * TIMES)  # E S² of a log-normal start
    np.testing.assert_allclose(spread.covariance[:, 0, 0] + spread.mean[:, 0] ** 2, second, rtol=1e-4)
    with pytest.raises(nke.errors.InputError, match="greater than 0"):
        model.forecast([-1.0], TIMES)


def test_a_share_stays_between_its_bounds():
    equation = Generator(Advection(lambda z: -z), Diffusion(lambda z: jnp.ones((1, 1), z.dtype)))
    model = model_of(equation, nke.Coordinates([0.0], [1.0], 1.0, [Logit(0.0, 1.0)]), ("share",))
    forecast = model.forecast([0.3], TIMES, components=4)
    low, high = forecast.quantile([1e-6, 1 - 1e-6])
    assert ((low > 0) & (high < 1)).all()
    x = np.linspace(0.0005, 0.9995, 1000)
    density = forecast.density(x)
    np.testing.assert_allclose(density.sum(axis=1) * 0.001, 1.0, atol=1e-3)
    np.testing.assert_allclose((x * density).sum(axis=1) * 0.001, forecast.mean[:, 0], atol=2e-3)


def test_it_says_when_it_leaves_the_data():
    constant = Generator(Advection(lambda x: 1.0 + 0 * x), Diffusion(lambda x: 0.5 * jnp.ones((1, 1), x.dtype)))
    centres = np.linspace(-2, 2, 50, dtype=np.float32)[:, None]
    region = DataRegion(centres, np.full(50, 0.1, np.float32), 1.0)
    model = replace(model_of(constant, nke.Coordinates([0.0], [1.0], 1.0)), region=region)
    with pytest.warns(UserWarning, match=r"leaves the states .* at time 2 "):
        forecast = model.forecast([0.0], [0.5, 2.0, 4.0], components=4)
    truth = norm(np.array([0.5, 2.0, 4.0]), 0.5 * np.sqrt([0.5, 2.0, 4.0]))
    np.testing.assert_allclose(forecast.outside, 1 - truth.cdf(2) + truth.cdf(-2), atol=1e-4)


def test_a_learned_law_with_jumps_agrees_with_its_own_paths(well_result):
    model, x0 = well_result.model, [1.0, 0.0, 0.0]
    forecast = model.forecast(x0, [0.25], components=8)
    drawn = model.sample(x0, [0.0, 0.25], seed=0, paths=4000)[:, 1]
    error = 5 * drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(forecast.mean[0] - drawn.mean(axis=0)) < error + 0.01).all()
    np.testing.assert_allclose(np.diagonal(forecast.covariance[0]), drawn.var(axis=0), rtol=0.15)


def test_the_stationary_density_of_a_linear_law(relaxing):
    law = relaxing.stationary(components=4)
    assert law.mean[0] == pytest.approx(1.0, abs=1e-4)
    assert law.covariance[0, 0] == pytest.approx(0.0625, rel=1e-3)


@pytest.mark.parametrize("first", [None, 0.0])  # an angle that counts turns, one that is wrapped
def test_a_turning_angle_keeps_its_turns(first):
    """dθ = 100 dt + 10 dW in degrees."""
    equation = Generator(Advection(lambda z: jnp.full_like(z, np.deg2rad(100))),
                         Diffusion(lambda z: jnp.full((1, 1), np.deg2rad(10), z.dtype)))  # fmt: skip
    coordinates = nke.Coordinates([0.0], [180 / np.pi], 1.0, [Periodic(360.0, first)])
    forecast = model_of(equation, coordinates, ("angle",)).forecast([350.0], TIMES, components=4)
    np.testing.assert_allclose(forecast.mean[:, 0], [400.0, 500.0], rtol=1e-6)
    np.testing.assert_allclose(forecast.quantile(0.5)[:, 0], [400.0, 500.0], rtol=1e-6)
    seen = np.array([[400.0], [500.0]]) - (0 if first is None else 360)
    np.testing.assert_allclose(forecast.log_prob(seen), norm(0, 10 * np.sqrt(TIMES)).logpdf(0), rtol=1e-4)


def test_an_angle_settles_into_one_turn():
    equation = Generator(Advection(lambda z: -jnp.sin(z)), Diffusion(lambda z: jnp.ones((1, 1), z.dtype)))
    model = model_of(equation, nke.Coordinates([0.0], [1.0], 1.0, [Periodic(2 * np.pi)]), ("angle",))
    law = model.stationary(components=16)
    grid = np.linspace(-np.pi, np.pi, 401)[:-1]
    density = sum(np.exp(law.log_prob((grid + 2 * np.pi * k)[:, None])) for k in range(-2, 3))
    truth = np.exp(2 * np.cos(grid))
    error = np.abs(density - truth / truth.sum() / (grid[1] - grid[0])).sum() * (grid[1] - grid[0])
    assert error < 0.02


def test_a_random_walk_has_no_stationary_density():
    walk = Generator(Advection(lambda z: 0.01 * jnp.ones_like(z)), Diffusion(lambda z: jnp.ones((1, 1), z.dtype)))
    with pytest.raises(nke.errors.InputError, match="random walk"):
        model_of(walk, nke.Coordinates([0.0], [1.0], 1.0)).stationary(components=4)


@pytest.mark.parametrize(
    ("start", "times", "components", "words"),
    [
        ([1.0, 2.0], [1.0], 4, r"finite state \(1,\)"),
        ([np.nan], [1.0], 4, "finite state"),
        ([1.0], [1.0, 0.5], 4, "increasing times"),
        ([1.0], [-1.0], 4, "increasing times"),
        ([1.0], [1.0], 0, "components ≥ 1"),
        (GaussianMixture.point([1.0, 2.0]), [1.0], 4, "dimension 1"),
        (nke.Trajectories(np.zeros((2, 3, 1)), 0.1), [1.0], 4, "one trajectory"),
    ],
)
def test_what_cannot_be_used_is_refused(relaxing, start, times, components, words):
    with pytest.raises(nke.errors.InputError, match=words):
        relaxing.forecast(start, times, components)


def test_wrong_questions_are_refused(relaxing):
    forecast = relaxing.forecast([3.0], TIMES, components=4)
    for ask, words in (
        (lambda: forecast.quantile(1.5), "between 0 and 1"),
        (lambda: forecast.density([1.0], "y"), "one of x"),
        (lambda: forecast.density([1.0], 3), "coordinate below 1"),
        (lambda: forecast.log_prob([1.0]), "a state for each time"),
        (lambda: forecast.probability([0.0, 1.0]), "1 bounds"),
        (lambda: forecast.exceedance(0.0, [1.0, 2.0]), "direction of 1"),
    ):
        with pytest.raises(nke.errors.InputError, match=words):
            ask()


def test_a_density_that_diverges_is_an_error():
    explosive = Generator(Advection(lambda z: z**3), Diffusion(lambda z: jnp.ones((1, 1), z.dtype)))
    with pytest.raises(nke.errors.DivergenceError, match="stays finite"):
        model_of(explosive, nke.Coordinates([0.0], [1.0], 1.0)).forecast([1.0], [5.0], components=4)
