"""The paper's baselines, fitted by the same call: ``nke.fit(data, nke.baselines.EulerMaruyama())``.

All of them are diffusions without a jump part: what was taken from the published methods and what had to be chosen
is in docs/baselines.md.
"""

from nke.baselines.euler_maruyama import EulerMaruyama
from nke.baselines.sde_gan import SDEGAN
from nke.baselines.trajectory_flow_matching import TrajectoryFlowMatching

__all__ = ["SDEGAN", "EulerMaruyama", "TrajectoryFlowMatching"]
