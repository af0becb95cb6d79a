"""The yearly volume of the Nile at Aswan, 1871 to 1970."""

import statsmodels.api as sm
from matplotlib.figure import Figure

import nke

recorded = sm.datasets.nile.load_pandas().data
data = nke.read(recorded)
result = nke.fit(data, seed=0)
print(result.summary())

before, after = recorded[recorded["year"] < 1899], recorded[recorded["year"] >= 1899]
print(f"\nmean until 1898: {before['volume'].mean():.0f}, from 1899 on: {after['volume'].mean():.0f}")
later = nke.fit(nke.read(after), seed=0)
print("From 1899 on:", later.diagnosis.verdict)
print(later.summary())

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.paths(result, data, figure=left, seed=1)
nke.plots.drift(result, data, figure=right)
figure.savefig("nile.png", dpi=75)
