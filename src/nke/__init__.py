"""Neural Kolmogorov Equations: from noisy trajectories to the law behind them.

Names are loaded on first use, so that ``import nke`` and ``nke --help`` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_HOME = {
    "NkeError": "nke.errors",
    "cache": "nke.caching",
    "Coordinates": "nke.data",
    "Trajectories": "nke.data",
    "transforms": "nke.data",
    "files": "nke.files",
    "read": "nke.files",
    "write": "nke.files",
    "GaussianMixture": "nke.mixtures",
    "systems": "nke.systems",
    "LieTrotter": "nke.operators",
    "Strang": "nke.operators",
    "Forecast": "nke.model",
    "Model": "nke.model",
    "load": "nke.model",
    "fit": "nke.fitting",
    "FitResult": "nke.fitting",
    "Likelihood": "nke.fitting",
    "MomentMatching": "nke.fitting",
    "Schedule": "nke.fitting",
    "baselines": "nke.baselines",
    "errors": "nke.errors",
    "mixtures": "nke.mixtures",
    "operators": "nke.operators",
    "evaluation": "nke.evaluation",
    "evaluate": "nke.evaluation",
    "Evaluation": "nke.evaluation",
    "diagnose": "nke.evaluation",
    "Diagnosis": "nke.evaluation",
    "oracle_floor": "nke.evaluation",
    "recovery": "nke.evaluation",
    "plots": "nke.plots",
    "report": "nke.reporting",
    "Report": "nke.reporting",
}

__all__ = [
    "Coordinates",
    "Diagnosis",
    "Evaluation",
    "FitResult",
    "Forecast",
    "GaussianMixture",
    "LieTrotter",
    "Likelihood",
    "Model",
    "MomentMatching",
    "NkeError",
    "Report",
    "Schedule",
    "Strang",
    "Trajectories",
    "baselines",
    "cache",
    "diagnose",
    "errors",
    "evaluate",
    "evaluation",
    "files",
    "fit",
    "load",
    "mixtures",
    "operators",
    "oracle_floor",
    "plots",
    "read",
    "recovery",
    "report",
    "systems",
    "transforms",
    "write",
]

if TYPE_CHECKING:
    from nke import baselines, errors, evaluation, files, mixtures, operators, plots, systems
    from nke.caching import cache
    from nke.data import Coordinates, Trajectories, transforms
    from nke.errors import NkeError
    from nke.evaluation import Diagnosis, Evaluation, diagnose, evaluate, oracle_floor, recovery
    from nke.files import read, write
    from nke.fitting import FitResult, Likelihood, MomentMatching, Schedule, fit
    from nke.mixtures import GaussianMixture
    from nke.model import Forecast, Model, load
    from nke.operators import LieTrotter, Strang
    from nke.reporting import Report, report

    __version__: str


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version  # a tenth of a second that help need not wait for

        return version("nke")
    if name not in _HOME:
        raise AttributeError(f"module 'nke' has no attribute {name!r}")
    home = import_module(_HOME[name])
    return home if home.__name__ == f"nke.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
