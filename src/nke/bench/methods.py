"""The methods that are compared, each a line in ``METHODS``."""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from nke.baselines import SDEGAN, EulerMaruyama, TrajectoryFlowMatching
from nke.bench.protocol import Case, Data, Protocol
from nke.fitting import FitResult, Likelihood, MomentMatching, Schedule, fit
from nke.fitting.compilation import compilation_clock
from nke.systems import System

ORACLE, PARAMETRIC, KOLMOGOROV, REFERENCE = "oracle", "parametric", "likelihood", "euler-maruyama"


class Fitted(NamedTuple):
    """A model and what it took to fit it."""

    model: Any  # samples paths; drift, diffusion, jumps and log_prob where it has them
    seconds: float
    processor: float  # seconds of all cores together, which other work on the machine hardly changes
    compilation: float
    decisions: dict[str, str]  # as they stand in the record


@dataclass(frozen=True)
class Method:
    """``factory`` gives what ``nke.fit`` takes as its method; the oracle and the parametric fit have none."""

    label: str
    factory: Callable[[Protocol], Any] | None = None
    needs: str | None = None  # package that must be installed

    def made(self, protocol: Protocol, case: Case) -> Any:
        """Makes what ``nke.fit`` takes as its method, with the options of the case that it has."""
        if self.factory is None:
            return None
        made = self.factory(protocol)
        return replace(made, **{name: value for name, value in case.options.items() if hasattr(made, name)})

    def settings(self, protocol: Protocol, case: Case) -> str:
        """Tells all options of the method, for the record."""
        return "" if self.factory is None else repr(self.made(protocol, case))


@dataclass(frozen=True)
class KnownSystem:
    """A system with the interface of a model."""

    system: System

    def sample(
        self, x0: Float[np.ndarray, "m d"], times: Float[np.ndarray, " t"], seed: int = 0
    ) -> Float[np.ndarray, "m t d"]:
        """Simulates a path from each of the given states."""
        return self.system.simulate_states(len(x0), seed, times, x0)


def fit_method(method: Method, case: Case, data: Data, protocol: Protocol, seed: int) -> Fitted:
    """Fits a method to the training set; everything that it may decide from the data is left to it."""
    clock, processor = time.perf_counter(), time.process_time()
    if method.factory is None:
        assert case.parametric is not None
        with compilation_clock() as compilation:
            system = case.parametric(data.train)
        model, compiled, decisions = KnownSystem(system), compilation.seconds, {"found": repr(system)}
    else:
        own = data.coordinates if case.raw else None
        how = method.made(protocol, case)
        result = fit(data.train, how, jumps=None, seed=seed, coordinates=own, diagnosis=False, progress=False)
        model, compiled, decisions = result.model, result.timings.get("compilation", 0.0), recorded_decisions(result)
    return Fitted(model, time.perf_counter() - clock, time.process_time() - processor, compiled, decisions)


def recorded_decisions(result: FitResult) -> dict[str, str]:
    """Tells what a fit decided, as it stands in the record of a cell."""
    return {decision.topic: str(decision) for decision in result.decisions}


def _schedule(protocol: Protocol) -> dict[str, Any]:
    """A shorter training where the protocol asks for one."""
    return {} if protocol.steps is None else {"schedule": Schedule(steps=protocol.steps)}


def _simple(protocol: Protocol) -> dict[str, Any]:
    """A model that compiles sooner where the protocol asks for a shorter training."""
    return {} if protocol.steps is None else {"components": 1, "substeps": 1}


METHODS = {
    ORACLE: Method("Oracle (floor)"),
    PARAMETRIC: Method("Parametric likelihood"),
    "trajectory-flow-matching": Method("TFM", lambda p: TrajectoryFlowMatching(**_schedule(p))),
    "sde-gan": Method("SDE-GAN", lambda p: SDEGAN(seconds=p.adversarial), needs="diffrax"),
    REFERENCE: Method("Euler–Maruyama", lambda p: EulerMaruyama(**_schedule(p))),
    "moment-matching": Method("Kolmogorov, moments", lambda p: MomentMatching(**_schedule(p))),
    KOLMOGOROV: Method("Kolmogorov, likelihood", lambda p: Likelihood(**_schedule(p), **_simple(p))),
}


def methods() -> dict[str, Method]:
    """Lists the methods that what is installed suffices for."""
    return {name: m for name, m in METHODS.items() if m.needs is None or importlib.util.find_spec(m.needs)}
