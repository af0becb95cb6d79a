"""torchsde's examples/latent_sde_lorenz.py: a latent SDE on 1024 paths of a Lorenz system with relative noise.

The model of arXiv 2001.01328, section 7.2, with the sizes, rates and noise of that file: prior drift h(z), posterior
drift f(z, context) for a context read backwards from the data, shared diagonal noise g(z), x = P z + observation noise.
"""

import time
from typing import NamedTuple

import numpy as np
import torch  # pyright: ignore[reportMissingImports] - a peer's, not a dependency
import torchsde  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.distributions import Normal, kl_divergence  # pyright: ignore[reportMissingImports]

from benchmarks.peers.example import SECONDS, Example, Figures, Measured, Run, fit_default
from nke.bench.methods import recorded_decisions
from nke.evaluation import path_metrics

PATHS, POINTS, END = 1024, 100, 2.0
OBSERVATION_NOISE = 0.01  # in standard deviations of the data
LATENT, CONTEXT, HIDDEN = 4, 64, 128
ITERATIONS, RATE, DECAY, ANNEALED = 5000, 1e-2, 0.997, 1000
REPLICATES = 4  # of the true system, for the floor
COMPARED = ("wasserstein", "sliced_wasserstein", "increment_wasserstein")


class Lorenz:
    """f of (10, 28, 8/3), g = diag(0.1, 0.28, 0.3) x."""

    noise_type, sde_type = "diagonal", "ito"

    def f(self, t, y):
        """Drift."""
        x1, x2, x3 = y.unbind(dim=1)
        return torch.stack([10 * (x2 - x1), 28 * x1 - x2 - x1 * x3, x1 * x2 - 8 / 3 * x3], dim=1)

    def g(self, t, y):
        """Diagonal of the noise."""
        return y * y.new_tensor([0.1, 0.28, 0.3])


class LatentSDE(nn.Module):
    """Prior, posterior, noise and observation of the latent SDE."""

    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.reader, self.context = nn.GRU(3, HIDDEN), nn.Linear(HIDDEN, CONTEXT)
        self.start = nn.Linear(CONTEXT, 2 * LATENT)
        self.prior = _network(LATENT, LATENT)
        self.posterior = _network(LATENT + CONTEXT, LATENT)
        self.noises = nn.ModuleList(_noise() for _ in range(LATENT))
        self.projection = nn.Linear(LATENT, 3)
        self.mean, self.log_deviation = (nn.Parameter(torch.zeros(1, LATENT)) for _ in range(2))
        self.read = None  # times and contexts of the batch

    def f(self, t, z):
        """Drift of the posterior."""
        assert self.read is not None
        times, contexts = self.read
        i = min(int(torch.searchsorted(times, t, right=True)), len(times) - 1)
        return self.posterior(torch.cat([z, contexts[i]], dim=1))

    def h(self, t, z):
        """Drift of the prior."""
        return self.prior(z)

    def g(self, t, z):
        """Diagonal of the noise, which both share."""
        return torch.cat([noise(z[:, i : i + 1]) for i, noise in enumerate(self.noises)], dim=1)

    def forward(self, paths, times):
        """Log-likelihood and relative entropy to the prior, for paths (t, m, 3)."""
        contexts = self.context(self.reader(paths.flip(0))[0]).flip(0)
        self.read = times, contexts
        mean, log_deviation = self.start(contexts[0]).chunk(2, dim=1)
        start = Normal(mean, log_deviation.exp())
        z, excess = torchsde.sdeint(self, start.rsample(), times, dt=1e-2, logqp=True, method="euler")
        likelihood = Normal(self.projection(z), OBSERVATION_NOISE).log_prob(paths).sum(dim=(0, 2)).mean()
        entropy = kl_divergence(start, Normal(self.mean, self.log_deviation.exp())).sum(dim=1).mean()
        return likelihood, entropy + excess.sum(dim=0).mean()

    @torch.no_grad()
    def sample(self, count, times):
        """Paths of the prior, observed without noise."""
        z0 = self.mean + self.log_deviation.exp() * torch.randn(count, LATENT)
        return self.projection(torchsde.sdeint(self, z0, times, names={"drift": "h"}, dt=1e-3))


class Data(NamedTuple):
    """In standard deviations of the training paths, (t, m, 3)."""

    times: torch.Tensor
    training: torch.Tensor  # observed with noise
    reference: torch.Tensor  # fresh paths without it, as both models sample
    replicates: list[torch.Tensor]


def measure(run: Run) -> Measured:
    """Measures both on paths of the example."""
    torch.manual_seed(run.seed)
    data = _simulate()
    training, times = _rows(data.training), data.times.numpy().astype(float)
    result, seconds = fit_default(training, times, run.seed)
    generated = result.model.sample(training[:, 0], times, seed=run.seed)
    ours = _distances(generated, data) | seconds

    clock = time.perf_counter()
    model, iterations = _train(data, run.cap)
    seconds = time.perf_counter() - clock
    peer = _distances(_rows(model.sample(PATHS, data.times)), data)
    floors = [_distances(_rows(paths), data) for paths in data.replicates]
    floor = {name: float(np.mean([figures[name] for figures in floors])) for name in floors[0]}
    return Measured(floor, ours, peer | {SECONDS: seconds, "iterations": iterations}, recorded_decisions(result))


@torch.no_grad()
def _simulate() -> Data:
    times = torch.linspace(0.0, END, POINTS)
    paths = torchsde.sdeint(Lorenz(), torch.randn((2 + REPLICATES) * PATHS, 3), times)
    training, *fresh = paths.split(PATHS, dim=1)
    mean, deviation = training.mean(dim=(0, 1)), training.std(dim=(0, 1))
    training, reference, *replicates = ((part - mean) / deviation for part in (training, *fresh))
    return Data(times, training + OBSERVATION_NOISE * torch.randn_like(training), reference, replicates)


def _train(data: Data, cap: float) -> tuple[LatentSDE, int]:
    """As many of the example's iterations as the cap allows."""
    model = LatentSDE()
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, gamma=DECAY)
    clock = time.perf_counter()
    for done in range(ITERATIONS):
        if time.perf_counter() - clock > cap:
            return model, done
        optimiser.zero_grad()
        likelihood, entropy = model(data.training, data.times)
        (min(1.0, (done + 1) / ANNEALED) * entropy - likelihood).backward()
        optimiser.step()
        schedule.step()
    return model, ITERATIONS


def _network(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.Softplus(), nn.Linear(HIDDEN, HIDDEN), nn.Softplus(), nn.Linear(HIDDEN, outputs)
    )


def _noise() -> nn.Module:
    """Of one coordinate, between 0 and 1."""
    return nn.Sequential(nn.Linear(1, HIDDEN), nn.Softplus(), nn.Linear(HIDDEN, 1), nn.Sigmoid())


def _rows(paths: torch.Tensor) -> np.ndarray:
    return paths.transpose(0, 1).numpy().astype(float)


def _distances(generated: np.ndarray, data: Data) -> Figures:
    metrics = path_metrics(generated, reference=_rows(data.reference))._asdict()
    return {name.replace("_", " "): metrics[name] for name in COMPARED}


EXAMPLES = [
    Example(
        "torchsde",
        "latent SDE on Lorenz paths of its examples, 1024 × 100 rows",
        measure,
        notes=(
            "Truth: fresh paths of the true system against others, the floor.",
            f"torchsde is stopped at the time cap; its example runs {ITERATIONS} iterations.",
            "nke samples from the start states of the training paths, torchsde from its learned law of them.",
            "The training data has observation noise of 0.01 standard deviations, which nke does not model.",
        ),
        seeds=1,
    )
]
