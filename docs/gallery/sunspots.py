"""The yearly number of sunspots, 1700 to 2008."""

import numpy as np
import statsmodels.api as sm
from matplotlib.figure import Figure

import nke

years = sm.datasets.sunspots.load_pandas().data.set_axis(["year", "sunspots"], axis=1)
data = nke.read(years)
result = nke.fit(data, seed=0)
print(result.summary())

number = years["sunspots"].to_numpy()
pairs = nke.Trajectories(np.stack([number[1:], number[:-1]], axis=1), 1.0, names=["now", "before"])
print("\nWith the year before as a second coordinate:", nke.fit(pairs, seed=0).diagnosis.verdict)

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.paths(result, data, figure=left, seed=1)
nke.plots.autocorrelation(result, data, figure=right)
figure.savefig("sunspots.png", dpi=75)
