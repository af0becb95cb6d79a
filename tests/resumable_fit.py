"""A fit long enough to be interrupted: tests run it in this process and in others."""

from pathlib import Path

import numpy as np

import nke


def run(folder: str | Path, output: str | Path, steps: int = 4000, seed: int = 0) -> None:
    """Fits with a checkpoint in a folder, and saves the model."""
    data = nke.systems.OrnsteinUhlenbeck().simulate(64, seed=2, times=np.arange(21) * 0.05)
    schedule = nke.Schedule(steps=steps, particles=128, patience=100)
    method = nke.Likelihood(networks=True, polish=False, noise="constant", width=8, depth=1, schedule=schedule)
    nke.fit(data, method, jumps=False, seed=seed, checkpoint=folder, diagnosis=False).model.save(output)
