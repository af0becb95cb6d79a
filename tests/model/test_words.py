"""``print(model)``: drift, noise and jumps in the user's units, over the range of the data."""

from xml.etree import ElementTree

import jax.numpy as jnp
import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.data import Coordinates
from nke.data.transforms import Log
from nke.operators import Advection, Diffusion, Generator, PoissonJump


@pytest.fixture(scope="module")
def price():
    """d log x = −log(x/10) dt + 0.2 dW with jumps up by a fifth, 5 a day: log x counts from log 10."""
    jump = nke.GaussianMixture(jnp.ones(1), jnp.full((1, 1), 0.2), jnp.full((1, 1, 1), 0.01))
    generator = Generator(
        Advection(lambda z: -z),
        Diffusion.from_tensor(lambda z: jnp.full((1, 1), 0.04)),
        PoissonJump.from_functions(lambda z: 5.0 + 0.0 * z[0], lambda z: jump),
    )
    coordinates = Coordinates([np.log(10.0)], [1.0], 1.0, [Log()])
    quantiles = ((5.0, 8.0, 10.0, 12.0, 20.0),)
    return nke.Model(generator, coordinates, 1.0, ("price",), ("EUR",), unit_of_time="d", quantiles=quantiles)


class TestCoefficients:
    def test_are_those_of_the_model(self, price):
        x = np.array([[4.0], [9.0]])
        found = price.coefficients(x)
        np.testing.assert_array_equal(found.drift, price.drift(x))
        np.testing.assert_array_equal(found.total_drift, price.total_drift(x))
        np.testing.assert_allclose(found.volatility, 0.2 * x, rtol=1e-5)
        np.testing.assert_allclose(found.jump_mean, x * np.expm1(0.2 + 0.005), rtol=1e-5)
        assert found.noise(0) == "relative"

    def test_stand_where_the_data_was(self, price):
        np.testing.assert_array_equal(price.coefficients().states[:, 0], price.quantiles[0])

    def test_in_more_dimensions_one_coordinate_moves_at_a_time(self):
        found = linear(2, jumps=False).coefficients()
        assert found.along.tolist() == [0, 0, 0, 1, 1, 1]
        np.testing.assert_array_equal(found.states[:3, 1], 0.0)
        np.testing.assert_allclose(found.drift, -found.states, atol=1e-6)


def test_a_volatility_in_proportion_is_told_in_percent_and_per_year(price):
    assert "volatility    20 % of price per √day (382 % a year)" in str(price)


def test_the_table_has_drift_and_total_drift(price):
    rows = str(price).splitlines()
    [heading] = [i for i, row in enumerate(rows) if "total drift" in row and "drift f" in row]
    assert rows[heading].split() == ["price", "[EUR]", "drift", "f", "total", "drift"]
    x, f, total = (float(cell.replace("−", "-")) for cell in rows[heading + 1].split())
    assert x == 5.0
    assert f == pytest.approx(5 * (np.log(2) + 0.02), rel=0.01)
    assert total == pytest.approx(f + 5 * 5 * np.expm1(0.205), rel=0.01)


def test_the_table_of_two_coordinates_shows_what_each_does_as_each_moves():
    """dx = −y dt + √(1 + y²) dW, dy = x dt + dW: all that changes in x changes with y."""
    generator = Generator(
        Advection(lambda z: jnp.array([-z[1], z[0]])),
        Diffusion.from_tensor(lambda z: jnp.diag(jnp.array([1.0 + z[1] ** 2, 1.0]))),
        None,
    )
    coordinates = Coordinates(np.zeros(2), np.ones(2), 1.0)
    model = nke.Model(generator, coordinates, 0.1, ("x", "y"), ("", ""))
    rows = str(model).splitlines()
    [heading] = [i for i, row in enumerate(rows) if row.split() == ["state", "f", "x", "f", "y", "g", "x"]]
    along_y = [row.replace("−", "-").split() for row in rows[heading + 1 :] if row.split()[0] == "y"]
    for _, y, drift_x, drift_y, noise in along_y:
        assert float(drift_x) == -float(y)
        assert float(drift_y) == 0
        assert float(noise) == pytest.approx(np.sqrt(1 + float(y) ** 2), rel=0.01)
    [words] = [row for row in rows if row.startswith("volatility")]
    assert "between 1 and 2.24" in words


def test_jumps_have_a_rate_and_sizes_in_units(price):
    mean, deviation = 10 * np.expm1(0.205), 10 * np.exp(0.205) * np.sqrt(np.expm1(0.01))
    [line] = [row for row in str(price).splitlines() if row.startswith("jumps ")]
    assert line.split(maxsplit=1)[1] == (f"5 a day; of the size, at price 10, mean {mean:.3g}, sd {deviation:.3g} EUR")


def test_without_jumps_none_are_told():
    text = str(linear(2, jumps=False))
    assert "no jumps" in text
    assert "jump " not in text
    assert "q0: 0.5 mm per √second, the same in every state" in text


def test_a_notebook_shows_words_and_two_curves(price):
    page = price._repr_html_()
    assert page.count("<polyline") == 2
    assert "volatility of price" in page
    assert "20 % of price per √day" in page
    ElementTree.fromstring(page)  # well formed
    assert linear(2)._repr_html_().count("<svg") == 0


def test_printing_is_short(price):
    assert max(map(len, str(price).splitlines())) <= 100
    assert "\n" not in repr(price)


def test_quantiles_are_kept_in_files(small_model, tmp_path):
    small_model.save(tmp_path / "law.nke")
    assert nke.load(tmp_path / "law.nke").quantiles == small_model.quantiles


@pytest.fixture
def small_model(small_fit):
    return small_fit["model"]
