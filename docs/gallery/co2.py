"""Carbon dioxide in the air over Mauna Loa, weekly from 1958 to 2001."""

import statsmodels.api as sm
from matplotlib.figure import Figure

import nke

weeks = sm.datasets.co2.load_pandas().data.rename_axis("date").reset_index()
data = nke.read(weeks, time_unit="y")
result = nke.fit(data, seed=0)
print(result.summary())

observed = weeks.dropna()
years = (observed["date"].iloc[-1] - observed["date"].iloc[0]).days / 365.25
print(f"\nrecorded growth {(observed['co2'].iloc[-1] - observed['co2'].iloc[0]) / years:.2f} ppm a year")

figure = Figure(figsize=(11, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2)
nke.plots.paths(result, data, figure=left, seed=1)
nke.plots.autocorrelation(result, data, figure=right)
figure.savefig("co2.png", dpi=75)
