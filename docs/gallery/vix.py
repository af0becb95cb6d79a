"""The volatility index VIX, daily from 2014 to the beginning of 2019."""

from arch.data import vix
from matplotlib.figure import Figure

import nke

data = nke.read(vix.load().reset_index(), calendar="trading")
result = nke.fit(data, seed=0)
print(result.summary())

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.drift(result, data, figure=left)
nke.plots.diffusion(result, data, figure=right)
figure.savefig("vix.png", dpi=75)
