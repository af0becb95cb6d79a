"""The report: a law, whether to believe it, and what it says beside the data, on one page that opens offline."""

from nke.reporting.contents import Contents
from nke.reporting.report import Report, report

__all__ = ["Contents", "Report", "report"]
