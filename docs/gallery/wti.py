"""The price of a barrel of oil (WTI), daily from 1986 to the beginning of 2019."""

from arch.data import wti
from matplotlib.figure import Figure

import nke

price = wti.load().reset_index().set_axis(["date", "price [USD]"], axis=1)
data = nke.read(price, calendar="trading")
result = nke.fit(data, seed=0)
print(result.summary())

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.drift(result, data, figure=left)
nke.plots.diffusion(result, data, figure=right)
figure.savefig("wti.png", dpi=75)
