"""All charts of a report, by their names."""

from nke.reporting.charts.chart import Chart
from nke.reporting.charts.coefficients import diffusion_curves, diffusion_plane, drift_curves, drift_plane
from nke.reporting.charts.forecasts import forecast_fan
from nke.reporting.charts.jumps import increment_histograms, jump_rates, jump_sizes, rate_plane
from nke.reporting.charts.long_run import autocorrelation, calibration, stationary
from nke.reporting.charts.paths import densities, paths
from nke.reporting.contents import Contents
from nke.reporting.labels import Labels


def every_chart(contents: Contents) -> dict[str, Chart]:
    """Makes the charts that there is something for.

    Args:
        contents: Of the report.

    Returns:
        The charts in the order of the page.
    """
    labels = Labels.of(contents.model, contents.data)
    charts = [
        paths(contents, labels), densities(contents, labels),
        drift_plane(contents, labels), drift_curves(contents, labels),
        diffusion_plane(contents, labels), diffusion_curves(contents, labels),
        rate_plane(contents, labels), jump_rates(contents, labels), jump_sizes(contents, labels),
        forecast_fan(contents, labels), stationary(contents, labels), autocorrelation(contents, labels),
        calibration(contents, labels), increment_histograms(contents, labels),
    ]  # fmt: skip
    return {chart.name: chart for chart in charts if chart is not None}
