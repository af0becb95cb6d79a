"""The numbers that choose a model, in one place: what each decides, and the measurement behind it."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any


def _rule(value: Any, decides: str, measured: str) -> Any:
    return field(default=value, metadata={"decides": decides, "measured": measured})


@dataclass(frozen=True)
class SelectionRules:
    """Thresholds and margins by which a fit chooses between models.

    The table of all fields, what each decides and what it rests on, is in ``docs/decisions.md``; it is written from
    this class by ``make rules``.

    Example:
        >>> careful = nke.fitting.SelectionRules(jump_kurtosis=0.6)
        >>> careful.jump_kurtosis, careful.most_degree
        (0.6, 3)
    """

    # What averages over the data are taken over.
    averaged_transitions: int = _rule(
        100_000, "how many transitions the tests, starting values and polynomial fits look at", "cost only"
    )

    # In which coordinates is the law learned?
    coordinate_transitions: int = _rule(50_000, "how many transitions the choice of coordinates looks at", "cost only")
    coordinate_gain_errors: float = _rule(
        2.0, "standard errors by which the logarithm of a positive column must predict better", "a level of 2 %"
    )

    # Are there borders?
    border_nats: float = _rule(
        7.0,
        "crossings that the law would have made, and the data did not, from which on a border is assumed",
        "a level of e^−7, one in a thousand",
    )

    # Are there jumps?
    jump_kurtosis: float = _rule(
        0.45,
        "local excess kurtosis of increments above which jumps are assumed",
        "set on seed 3 of 14 systems, right on 65 of 70 fresh data sets (table of jumps)",
    )
    unsure_kurtosis: tuple[float, float] = _rule(
        (0.08, 0.6), "range of that kurtosis in which the summary says that it cannot be known", "the same table"
    )
    kurtosis_neighbours: int = _rule(64, "neighbouring states within which increments are standardised", "not compared")
    peers_at_one_time: int = _rule(
        30,
        "transitions at one time below which moment matching takes the median of increments over all times",
        "not compared",
    )

    # The law of one jump.
    most_jump_components: int = _rule(4, "Gaussians in the law of a jump that are tried", "bimodal jumps need 2")
    jump_sample: int = _rule(1500, "jumps that the first law of a jump is fitted to", "cost only")
    jump_sample_without_noise: int = _rule(6000, "the same where there is no noise between the jumps", "rarefied gas")
    jumps_per_component: int = _rule(20, "fewest jumps for every Gaussian of their law", "not compared")
    component_gain: float = _rule(
        0.05, "held-out nats per jump that another Gaussian must bring", "bimodal jumps: 2 on five of five seeds"
    )
    component_gain_without_noise: float = _rule(
        0.01, "the same where there is no noise between the jumps", "rarefied gas"
    )
    least_component_weight: float = _rule(
        0.06, "weight below which a Gaussian of the first law of a jump is dropped", "double well and bimodal jumps"
    )
    least_component_size: float = _rule(
        3.0, "size over the noise of a step below which it is dropped", "double well and bimodal jumps"
    )
    least_component_share: float = _rule(
        0.02, "mean share of the jumps below which a learned Gaussian is dropped after training", "not compared"
    )
    state_dependent_share: float = _rule(
        0.05,
        "share of the jumps' variance that the state must explain for their means and covariances to depend on it",
        "rarefied gas 6.6 %, bimodal jumps 3.4 to 3.9 %, double well 1.2 %: set between these, after looking",
    )
    state_dependent_deviations: float = _rule(
        4.0, "standard deviations by which that share must exceed chance", "not compared"
    )
    neglected_jumps: float = _rule(
        2e-3, "probability of more jumps in a step than the Poisson series tells apart", "not compared"
    )
    most_series_components: int = _rule(16, "Gaussians for one number of jumps in that series, at most", "cost only")

    # Noise.
    noiseless: float = _rule(
        1e-4, "noise of a step, in standard deviations of the data, that counts as none", "rarefied gas"
    )
    resolution: float = _rule(
        1e-3, "resolution with which motion without noise is scored, likewise", "rarefied gas: 1e-4 to 1e-2 work"
    )
    noise_form_gain: float = _rule(
        0.2,
        "nats per transition between constant and relative noise from which on the worse is not tried",
        "the paper's systems",
    )
    near_zero: float = _rule(
        0.05, "share of the median state below which relative noise no longer falls with the state", "Lorenz, noise 3"
    )
    near_zero_polynomial: float = _rule(
        0.05, "factor by which that size is smaller for a polynomial law", "Lorenz, noise 3, and Black–Scholes"
    )

    # Polynomial laws.
    most_degree: int = _rule(3, "highest power of the state in a polynomial drift", "the paper's systems")
    most_coefficients: int = _rule(
        400,
        "coefficients of a polynomial drift, at most",
        "cost; with 120 a cubic of four coordinates was not tried: drift error 0.40 instead of 0.06",
    )
    degree_gain: float = _rule(
        20.0, "nats that least squares must gain, beside one a coefficient, for a higher degree", "Lorenz 0.3, seed 0"
    )
    most_drift_change: float = _rule(
        1.0,
        "relative change of the drift over a step beyond which a transition is outside the model's validity",
        "Lorenz, noise 3, seed 1: 28 of 92,200 such steps had ruined the fit",
    )
    least_valid_share: float = _rule(
        0.5, "share of transitions within validity below which none is left out", "not compared"
    )
    fast_drift_change: float = _rule(
        0.1, "median relative change of the drift over a step from which on two sub-steps are the fewest", "Lorenz 0.3"
    )
    most_substeps: int = _rule(8, "sub-steps of the discrete model, at most", "cost only")
    most_points: int = _rule(
        32,
        "points at which a smooth law is evaluated over one step, sub-steps × (coordinates + 1) × (1 + Gaussians of a "
        "jump), at most",
        "cost only: ten-dimensional gene network, 8 sub-steps had taken more than ten minutes",
    )
    evidence_gain: float = _rule(
        3.0,
        "nats of evidence by which a smooth law must be ahead",
        "odds of 20 to 1",
    )
    substep_gain: float = _rule(
        1.0,
        "nats over all transitions that twice as many sub-steps of a smooth law must gain; they cost no parameters, "
        "and more of them are nearer to the equation",
        "non-gradient well, step 0.1: 2 sub-steps gain 2 nats, drift error 0.040 instead of 0.050; 4 gain 0.4, 0.038",
    )
    origin_distance: float = _rule(
        10.0, "standard deviations from the data beyond which powers are counted from its mean", "not compared"
    )

    # Lack of fit (score test).
    score_test_cells: int = _rule(64, "cells of the state space in the score test, at most", "power on known gains")
    score_test_transitions: int = _rule(100, "informative transitions in each cell, at least", "calibration test")
    lack_of_fit_nats: float = _rule(
        20.0,
        "nats of lack of fit, beyond chance, that a law without networks may show",
        "networks cost 65 to 130 nats by their own errors on the double well",
    )
    hopeless_nats: float = _rule(
        200.0,
        "nats of evidence by which a smooth regression is ahead beyond which no polynomial law is fitted",
        "cost only: ten times the lack of fit that one may show",
    )
    lack_of_fit_deviations: float = _rule(
        3.0, "standard deviations of the score test that count as chance", "calibration test"
    )

    # Divergence in simulation.
    simulated_paths: int = _rule(
        2048,
        "paths simulated to see whether a law diverges",
        "predator and prey, seed 413: a cubic that 256 paths did not see diverge lost one path in 2500",
    )
    simulated_steps: int = _rule(128, "their steps", "cost only")
    simulated_substeps: int = _rule(4, "parts of each, by Euler's method", "cost only")
    divergence_distance: float = _rule(
        100.0, "times as far as the farthest state of the data that counts as divergence", "not compared"
    )

    most_motion: float = _rule(
        10.0,
        "times the largest recorded motion that drift or noise of a smooth law may say of a step from any state",
        "tank reactor, seed 600: noise 4000 times its median in single states, and roll-outs beyond any size",
    )

    # Networks.
    trial_steps: int = _rule(400, "training steps of a short run that compares forms of the law", "the paper's systems")
    trial_gain: float = _rule(
        0.003,
        "nats per transition, beyond a standard error, by which a richer form must win a short run",
        "double well: the plain form is ahead by up to 0.002 although its noise is constant",
    )
    round_gain_errors: float = _rule(
        2.0,
        "standard errors by which a round of training and polishing must predict better than the law before it",
        "a level of 2 %; the double well ends at its polynomial",
    )
    most_rounds: int = _rule(
        5, "rounds of training, each twice as long as the one before, at most", "cost only: the gain ends them"
    )
    drift_network_errors: float = _rule(
        2.0,
        "standard errors by which a polynomial may predict worse than the drift network that it replaces",
        "Cox–Ingersoll–Ross, seeds 61 to 65",
    )

    # Training.
    large_motion_preference: float = _rule(
        2.0, "preference for large motions in the batches of a fit with jumps", "table of training choices"
    )
    reference_transitions: int = _rule(
        100_000, "transitions for which length of training and weight decay were chosen", "double well"
    )
    steps_per_coordinate: int = _rule(1000, "training steps per coordinate", "double well, 32 to 1024 trajectories")
    most_steps: int = _rule(3000, "training steps, at most", "double well, 32 to 1024 trajectories")
    least_steps: int = _rule(600, "training steps, at least", "double well, 32 to 1024 trajectories")
    weight_decay: float = _rule(0.15, "weight decay of the networks' matrices", "table of training choices")
    most_weight_decay: float = _rule(1.0, "the same, at most, with little data", "double well, 32 trajectories")
    patience: int = _rule(
        15, "chunks of steps without a better held-out loss before training ends", "the last steps are mostly the best"
    )

    # Warnings.
    coarse_step: float = _rule(
        2.0,
        "median relative change of the drift over a step above which the step is called too coarse",
        "a straight restoring drift leaves e^−2 of a displacement then, and the discrete model is off by 3 %",
    )
    most_missed: float = _rule(
        0.02,
        "share of the motion of a step that a turn of the drift may add before the step is called too coarse there",
        "chemostat and Brusselator, right to 0.03 or better: in 0.3 and 0.7 % of the steps; tank reactor: in 2.1 %",
    )
    coarse_share: float = _rule(
        0.01,
        "share of the transitions over which the drift may turn by more than its own size before the step is called "
        "too coarse in these states",
        "tank reactor 4.7 %: drift off by 0.27 and noise by a factor of two there, by 0.03 and 1.03 elsewhere",
    )
    most_noise: float = _rule(
        100.0,
        "times its median that the variance of noise that depends on the state may be in few of the states",
        "particle at a steep wall (Morse potential), 0.1 % of the steps: 300 to 10⁷ where the true noise varies by 1.5",
    )
    many_jumps: float = _rule(
        0.5, "expected jumps per step above which single jumps cannot be told apart", "docs/likelihood.md"
    )
    small_jumps: float = _rule(
        1.5, "size of a jump over the noise of a step below which it cannot be told from diffusion", "not compared"
    )
    kinematic_gap: float = _rule(
        0.1, "share of its motion by which a position may miss what its velocity says", "rarefied gas"
    )
    kinematic_speed_error: float = _rule(
        0.1, "relative error of the speed of a position above which named positions are refused", "not compared"
    )

    def to_dict(self) -> dict[str, Any]:
        """Gives the rules as plain values.

        Returns:
            Names and values, ready for JSON.

        Example:
            >>> nke.fitting.SelectionRules().to_dict()["most_degree"]
            3
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SelectionRules":
        """Reads what ``to_dict`` gave; rules that this version does not have are left out.

        Args:
            values: Names and values.

        Returns:
            The rules, with the defaults for names that are missing.

        Example:
            >>> nke.fitting.SelectionRules.from_dict({"most_degree": 2}).most_degree
            2
        """
        known: dict[str, Any] = {rule.name: values[rule.name] for rule in fields(cls) if rule.name in values}
        if "unsure_kurtosis" in known:
            known["unsure_kurtosis"] = tuple(known["unsure_kurtosis"])  # JSON has no tuples
        return cls(**known)

    @classmethod
    def table(cls) -> str:
        """Writes all rules as a table in Markdown.

        Returns:
            A row for each rule: name, value, what it decides, what was measured.

        Example:
            >>> print(nke.fitting.SelectionRules.table().splitlines()[0])
            | rule | value | decides | measured on |
        """
        rows = ["| rule | value | decides | measured on |", "| --- | --- | --- | --- |"]
        rows += [
            f"| `{rule.name}` | {rule.default} | {rule.metadata['decides']} | {rule.metadata['measured']} |"
            for rule in fields(cls)
        ]
        return "\n".join(rows)
