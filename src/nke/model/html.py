"""A law in a notebook: its words, and drift and volatility as small curves, without any package for pictures."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from nke.model.coefficients import Coefficients
from nke.model.words import figure

if TYPE_CHECKING:
    from nke.model.model import Model

WIDTH, HEIGHT, EDGE = 220, 110, 22  # of a small picture, and of its margin, in pixels
POINTS = 41


def as_html(words: str, model: "Model") -> str:
    """Shows a law in a notebook.

    Args:
        words: What ``print`` would show.
        model: The law.

    Returns:
        HTML: curves in one dimension, and the words.
    """
    pictures = ""
    if model.dimension == 1:
        ends = model.coefficients().states[:, 0]
        states = np.linspace(ends.min(), ends.max(), POINTS)[:, None]
        found = Coefficients.of(model, states)
        name = escape(model.names[0])
        curves = [(f"drift of {name}", found.drift[:, 0]), (f"volatility of {name}", found.volatility[:, 0])]
        pictures = "".join(_picture(title, states[:, 0], values) for title, values in curves)
    return f"<div>{pictures}<pre>{escape(words)}</pre></div>"


def _picture(title: str, x: np.ndarray, y: np.ndarray) -> str:
    """A curve with its ranges, as SVG."""
    low, high = float(y.min()), float(y.max())
    if high - low <= 1e-9 * max(abs(high), abs(low), 1e-300):
        low, high = low - 0.5, high + 0.5
    across = EDGE + (WIDTH - 2 * EDGE) * (x - x[0]) / max(float(x[-1] - x[0]), 1e-300)
    up = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (y - low) / (high - low)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    style = 'font-family="sans-serif" font-size="9"'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" {style}>'
        f'<polyline points="{line}" fill="none" stroke="darkorange" stroke-width="1.5"/>'
        f'<text x="{EDGE}" y="10" font-weight="bold">{title}: {figure(low)} to {figure(high)}</text>'
        f'<text x="{EDGE}" y="{HEIGHT - 6}">{figure(float(x[0]))}</text>'
        f'<text x="{WIDTH - EDGE}" y="{HEIGHT - 6}" text-anchor="end">{figure(float(x[-1]))}</text></svg>'
    )
