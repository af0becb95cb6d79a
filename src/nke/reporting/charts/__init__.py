"""The charts of a report as plain values that Plotly draws: one file for each subject."""

from nke.reporting.charts.chart import Chart, Choice, Panel
from nke.reporting.charts.every import every_chart

__all__ = ["Chart", "Choice", "Panel", "every_chart"]
