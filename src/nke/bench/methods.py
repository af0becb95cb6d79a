"""The methods that are compared, each a line in ``METHODS``."""

import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from nke.bench.protocol import Case, Data, Protocol
from nke.fitting import Likelihood, MomentMatching, Schedule, fit
from nke.fitting.compilation import compilation_clock
from nke.systems import System

ORACLE, PARAMETRIC, KOLMOGOROV, REFERENCE = "oracle", "parametric", "likelihood", "euler-maruyama"
BASELINES = "nke.baselines"


class Fitted(NamedTuple):
    model: Any  # samples paths; drift, diffusion, jumps and log_prob where it has them
    seconds: float
    processor: float  # seconds of all cores together, which other work on the machine hardly changes
    compilation: float
    decided: dict[str, str]


@dataclass(frozen=True)
class Method:
    """``factory`` gives what ``nke.fit`` takes as its method; the oracle and the parametric fit have none."""

    label: str
    factory: Callable[[Protocol], Any] | None = None
    home: str | None = None  # module that must be there

    def made(self, protocol: Protocol, case: Case) -> Any:
        """What ``nke.fit`` takes as its method, with the options of the case that it has."""
        if self.factory is None:
            return None
        made = self.factory(protocol)
        return replace(made, **{name: value for name, value in case.options.items() if hasattr(made, name)})

    def settings(self, protocol: Protocol, case: Case) -> str:
        return "" if self.factory is None else repr(self.made(protocol, case))


@dataclass(frozen=True)
class KnownSystem:
    """A system with the interface of a model."""

    system: System

    def sample(
        self, x0: Float[np.ndarray, "m d"], times: Float[np.ndarray, " t"], seed: int = 0
    ) -> Float[np.ndarray, "m t d"]:
        return self.system.simulate_states(len(x0), seed, times, x0)


def fit_method(method: Method, case: Case, data: Data, protocol: Protocol, seed: int) -> Fitted:
    """Everything that a method may decide from the data is left to it."""
    clock, processor = time.perf_counter(), time.process_time()
    if method.factory is None:
        assert case.parametric is not None
        with compilation_clock() as compilation:
            system = case.parametric(data.train)
        model, compiled, decided = KnownSystem(system), compilation.seconds, {"found": repr(system)}
    else:
        own = data.coordinates if case.raw else None
        result = fit(data.train, method.made(protocol, case), jumps=None, seed=seed, coordinates=own, progress=False)
        model, compiled, decided = result.model, result.timings.get("compilation", 0.0), result.decided
    return Fitted(model, time.perf_counter() - clock, time.process_time() - processor, compiled, decided)


def _schedule(protocol: Protocol) -> dict[str, Any]:
    """A shorter training where the protocol asks for one."""
    return {} if protocol.steps is None else {"schedule": Schedule(steps=protocol.steps)}


def _simple(protocol: Protocol) -> dict[str, Any]:
    """A model that compiles sooner where the protocol asks for a shorter training."""
    return {} if protocol.steps is None else {"components": 1, "substeps": 1}


def _baseline(name: str, settings: Callable[[Protocol], dict[str, Any]]) -> Callable[[Protocol], Any]:
    return lambda protocol: getattr(importlib.import_module(BASELINES), name)(**settings(protocol))


METHODS = {
    ORACLE: Method("Oracle (floor)"),
    PARAMETRIC: Method("Parametric likelihood"),
    "trajectory-flow-matching": Method("TFM", _baseline("TrajectoryFlowMatching", _schedule), BASELINES),
    "sde-gan": Method("SDE-GAN", _baseline("SDEGAN", lambda p: {"seconds": p.adversarial}), BASELINES),
    REFERENCE: Method("Euler–Maruyama", _baseline("EulerMaruyama", _schedule), BASELINES),
    "moment-matching": Method("Kolmogorov, moments", lambda p: MomentMatching(**_schedule(p))),
    KOLMOGOROV: Method("Kolmogorov, likelihood", lambda p: Likelihood(**_schedule(p), **_simple(p))),
}


def methods() -> dict[str, Method]:
    """The methods whose code is installed."""
    return {name: m for name, m in METHODS.items() if m.home is None or importlib.util.find_spec(m.home)}
