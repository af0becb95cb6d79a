"""The methods that are compared and the options that they get."""

from bench_cells import TINY
from nke.bench import methods
from nke.bench.protocol import cases


def test_methods_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: None)
    assert set(methods.METHODS) - set(methods.methods()) == {"sde-gan"}


def test_options_of_a_case_go_to_the_methods_that_have_them():
    case, made = cases()["rarefied-gas"], {}
    for name, method in methods.METHODS.items():
        made[name] = method.settings(TINY, case)
    assert all("'x1': 'v1'" in made[name] for name in ("likelihood", "euler-maruyama"))
    assert "v1" not in made["trajectory-flow-matching"]
    assert "kinetic=None" in methods.METHODS["likelihood"].settings(TINY, cases()["double-well"])
