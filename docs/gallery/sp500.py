"""The S&P 500, daily from 1999 to 2018: its level, and by mistake its returns."""

import numpy as np
from arch.data import sp500
from matplotlib.figure import Figure

import nke

level = sp500.load()[["Adj Close"]].reset_index().set_axis(["date", "level"], axis=1)
data = nke.read(level, calendar="trading")
result = nke.fit(data, seed=0)
print(result.summary())

returns = level.assign(level=np.log(level["level"]).diff()).dropna().rename(columns={"level": "return"})
mistake = nke.fit(nke.read(returns, calendar="trading"), seed=0)
print("\nReturns given as states:", mistake.diagnosis.verdict)

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.paths(result, data, figure=left, seed=1)
nke.plots.diffusion(result, data, figure=right)
figure.savefig("sp500.png", dpi=75)
