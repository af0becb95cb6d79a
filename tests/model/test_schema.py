"""The schema of model files tells exactly the arrays that the parts of a model have."""

import json

import equinox as eqx
import pytest

from nke.data import transforms
from nke.errors import InputError
from nke.model import schema
from nke.model.storage import _build, _configuration, _tensors
from nke.operators.jump import JUMPS
from nke.operators.networks.diffusion_factors import FACTORS
from nke.operators.networks.drift import DRIFTS
from nke.operators.networks.jumps import FINITE_TIME_LAWS, JUMP_MEASURES
from stored_models import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_models_of_every_kind(name):
    model = EXAMPLES[name]()
    config, arrays = json.loads(json.dumps(_configuration(model))), _tensors(model)
    schema.check(config, arrays)
    again = _build(config, arrays)
    assert eqx.tree_equal(again.generator, model.generator)
    assert (again.rule, again.splitting, again.borders) == (model.rule, model.splitting, model.borders)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_array_is_needed_in_its_shape(name):
    model = EXAMPLES[name]()
    config, arrays = json.loads(json.dumps(_configuration(model))), _tensors(model)
    for array in arrays:
        others = {other: value for other, value in arrays.items() if other != array}
        for wrong in (others, others | {array: arrays[array][None]}, others | {array: arrays[array].astype("<U1")}):
            with pytest.raises(InputError):
                schema.check(config, wrong)


def test_every_kind_is_known():
    """A new kind of part needs its line in the schema."""
    tables = {
        DRIFTS: schema.DRIFT_KINDS,
        FACTORS: schema.FACTOR_KINDS,
        FINITE_TIME_LAWS: schema.LAW_KINDS,
        JUMP_MEASURES: schema.MEASURE_KINDS,
    }
    for registry, table in tables.items():
        assert set(registry.kinds) == set(table)
    assert set(transforms.TRANSFORMS) == set(schema.TRANSFORMS)
    assert set(JUMPS.kinds) == {"finite-time", "poisson"}


def test_the_arrays_of_a_constraint_are_the_same_everywhere():
    model = EXAMPLES["angle and position"]()
    config, arrays = json.loads(json.dumps(_configuration(model))), _tensors(model)
    arrays["advection.drift.constraint.slope.value"] = arrays["constraint.slope.value"] + 1
    with pytest.raises(InputError, match="same numbers for"):
        schema.check(config, arrays)


@pytest.mark.parametrize("wrong", ["columns", "rows", "order"])
def test_each_weight_of_a_smooth_law_has_one_place(wrong):
    model = EXAMPLES["smooth"]()
    config, arrays = json.loads(json.dumps(_configuration(model))), _tensors(model)
    name = "advection.drift.body.columns" if wrong != "rows" else "advection.drift.body.rows.value"
    odd = arrays[name].copy()
    if wrong == "order":
        odd[:2] = odd[1::-1]
    else:
        odd[..., 0] = 99
    with pytest.raises(InputError, match="one function and one feature"):
        schema.check(config, arrays | {name: odd})
