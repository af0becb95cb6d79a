"""The temperature of the sea off Peru, monthly from 1950 to 2010: with its season, and without."""

import statsmodels.api as sm
from matplotlib.figure import Figure

import nke

years = sm.datasets.elnino.load_pandas().data.set_index("YEAR")
recorded = nke.Trajectories(years.to_numpy().ravel(), 1 / 12, names=["temperature"], units=["°C"], unit_of_time="year")
print("As recorded:", nke.fit(recorded, seed=0).diagnosis.verdict)

anomaly = (years - years.mean()).to_numpy().ravel()  # each month without its own mean
data = nke.Trajectories(anomaly, 1 / 12, names=["anomaly"], units=["°C"], unit_of_time="year")
result = nke.fit(data, seed=0)
print(result.summary())

thinned = nke.Trajectories(anomaly[::3], 1 / 4, names=["anomaly"], units=["°C"], unit_of_time="year")
seasonal = nke.fit(thinned, seed=0)
print("\nEvery third month, as advised:", seasonal.diagnosis.verdict)
print(seasonal.equation)

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.drift(seasonal, thinned, figure=left)
nke.plots.autocorrelation(seasonal, thinned, figure=right)
figure.savefig("el_nino.png", dpi=75)
