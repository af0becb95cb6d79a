"""Where a fit begins: networks and polynomials at the data's own averages, in any form of the law."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from nke.arrays import cholesky
from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.batches import float32
from nke.fitting.decisions import Decision
from nke.fitting.form import POLYNOMIAL_NOISE_FORMS, ModelForm
from nke.fitting.initial_jump_law import initial_jump_law, series_order, share_explained_by_state
from nke.fitting.initial_moments import DisplacementMoments, TransitionSample, local_deviation, moments_with_jumps
from nke.fitting.least_squares import DriftRegression
from nke.fitting.rules import SelectionRules
from nke.fitting.smooth_regression import SmoothRegression, Straightened
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    FullFactor,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    PoissonJump,
    RelativeFactor,
)

FACTORS = {"constant": ConstantFactor, "plain": FullFactor, "diagonal": DiagonalFactor, "relative": RelativeFactor}
Keys = Callable[[], PRNGKeyArray]


@runtime_checkable
class NetworkOptions(Protocol):
    """What a method says about the networks."""

    @property
    def components(self) -> int | None:
        """Gaussians in the law of a jump; None: as many as the data supports."""

    @property
    def jump_shapes(self) -> str | None:
        """Whether their shapes depend on the state; None: decided from the data."""

    @property
    def width(self) -> int:
        """Units of a layer."""
        ...

    @property
    def depth(self) -> int:
        """Hidden layers."""
        ...


class InitialModel:
    """Starting values for a law of any form, from averages and least squares.

    Attributes:
        sample: The transitions that averages are taken over.
        moments: Of their displacements.
        residual: Displacements without a quadratic drift.
        noiseless: Coordinates whose calm motion a quadratic drift explains without any noise.
        state_dependent_shapes: Whether means and covariances of the jumps depend on the state.
        decisions: What was decided about noise and jumps.
    """

    def __init__(
        self,
        transitions: Transitions,
        coordinates: Coordinates,
        jumps: bool,
        options: NetworkOptions,
        seed: int,
        rules: SelectionRules,
        constraint: KinematicConstraint | None = None,
        names: tuple[str, ...] = (),
    ):
        """Takes the averages.

        Args:
            transitions: Some transitions in the user's units.
            coordinates: Those of training.
            jumps: Whether the law has jumps.
            options: Sizes of the networks and what is said about jumps.
            seed: Of what is drawn at random.
            rules: Thresholds for noise and jumps.
            constraint: What is known of positions and velocities.
            names: Of the coordinates, for the decisions.
        """
        self.jumps, self.options, self.rules, self.constraint = jumps, options, rules, constraint
        self.seed, self._smooth = seed, {}
        self.decisions: list[Decision] = []
        sample = self.sample = TransitionSample(transitions, coordinates, constraint, rules.near_zero)
        self.moments = self._moments(sample.displacement)
        self.residual = self.regression("constant").residual()
        self.residual_moments = self._moments(self.residual)
        self.noiseless: Bool[np.ndarray, " r"] = self._without_noise()
        if self.noiseless.any():
            self.moments = self.moments.with_resolution(self.resolution, sample.typical_step)
            self.decisions.append(self._resolution_decision(names))
        self.mixture, motion = None, sample.displacement
        if jumps and not self.noiseless.any():
            # What a smooth drift leaves: where the drift is fast, whole displacements pass for jumps.
            smooth = self.smooth_regression(rules.most_degree, False)
            told = moments_with_jumps(self._in_noise(smooth), sample.step).jumped
            least = rules.noiseless * sample.deviation
            self.moments = DisplacementMoments.of_known_jumps(smooth.residual, sample.step, told, least)
            jumped = told[:, None]
            self.residual = motion = (1 - jumped) * smooth.residual + jumped * smooth.jump
        if jumps:
            self.mixture = initial_jump_law(
                self.moments,
                motion,
                sample.step,
                options.components,
                seed,
                rules,
                without_noise=bool(self.noiseless.all()),
            )
        self.state_dependent_shapes = self._shapes_depend_on_state()

    @property
    def resolution(self) -> Float[np.ndarray, " r"]:
        """Resolution with which coordinates without noise are scored; zero for the others."""
        return np.where(self.noiseless, self.rules.resolution * self.sample.deviation, 0.0)

    def smooth_regression(self, degree: int, constant_noise: bool) -> SmoothRegression:
        """Gives drift and noise as smooth functions of the state, by regression.

        Args:
            degree: Highest power of the state beside the kernels.
            constant_noise: Whether the noise is the same everywhere.

        Returns:
            The regression, made once.
        """
        key, any_noise = (degree, constant_noise), self._smooth.get((degree, False))
        if constant_noise and any_noise is not None and not any_noise.state_dependent_noise:
            return any_noise
        if key not in self._smooth:
            of = partial(SmoothRegression.of, self.sample, degree=degree, seed=self.seed, constant_noise=constant_noise)
            calm = [1 - self.residual_moments.jumped]
            if self.jumps:
                # Where the noise is large, calm motions are no jumps: they may count in units of those around them.
                rest, sample = self.regression("constant").residual(), self.sample
                spread = local_deviation(sample.x, rest / np.sqrt(sample.step)[:, None], self.rules.kurtosis_neighbours)
                calm.append(1 - moments_with_jumps(rest / spread, sample.step).jumped)
            found = [of(each) for each in calm]
            if self.jumps:
                # Once more, jumps being told from what the smooth drift leaves in units of its noise.
                told = [moments_with_jumps(self._in_noise(law), self.sample.step).jumped for law in found]
                same = np.abs(told[0] - told[1]).sum() < 1
                found = [of(1 - jumped) for jumped in (told[:1] if same else told)]
            self._smooth[key] = max(found, key=self._evidence_with_jumps) if self.jumps else found[0]
        return self._smooth[key]

    def _evidence_with_jumps(self, law: SmoothRegression) -> float:
        return float(law.log_densities_with_jumps(self.sample).sum() - law.noise.cost.sum())

    def _in_noise(self, law: SmoothRegression) -> Float[np.ndarray, "t r"]:
        """What a law leaves of the motions, in units of its noise."""
        return law.residual / law.noise_deviation(self.sample.x)

    @property
    def independent(self) -> float:
        """Share of the transitions that are independent as far as the size of the noise goes."""
        return self.smooth_regression(self.rules.most_degree, False).independent

    @cached_property
    def drift_change(self) -> float:
        """Median relative change of the drift over a step, by a smooth regression."""
        drift, sample = self.smooth_regression(self.rules.most_degree, False), self.sample
        now = drift.speed * drift.drift(sample.x)
        ahead = drift.speed * drift.drift(sample.visible_ahead(sample.states, sample.step[:, None] * now))
        change = np.linalg.norm(ahead - now, axis=1) / np.maximum(np.linalg.norm(now, axis=1), 1e-300)
        return float(np.median(change))

    @cached_property
    def gain_over_polynomials(self) -> float:
        """Nats of evidence by which a smooth regression is ahead of every polynomial law, by its drift or its noise."""
        smooth, sample = self.smooth_regression(self.rules.most_degree, False), self.sample
        if not self.likelier_regression.within_model_validity(sample.states, sample.step).all():
            return 0.0  # kernels may gain where the step is too coarse for any law
        # Noise in proportion to a state that changes its sign is no smooth function.
        simple = self.residual_moments.log_prob(self.regression("constant").residual(), sample.step)
        ahead = _clipped(self._straightened.log_densities + self._straightened.log_stretch - simple)
        by_drift = smooth.kernel_gain if ahead > len(sample.x) * self._relative_gain else 0.0
        return max(by_drift, 0.0 if self.turns_fast else self.noise_gain)

    @cached_property
    def noise_gain(self) -> float:
        """Nats of evidence by which noise as a smooth function is ahead of constant and of relative noise."""
        rest, sample = self._straightened.residual, self.sample
        simple = max(self._moments(rest).log_prob(rest, sample.step), self._relative_log_prob(rest), key=np.sum)
        smooth = self.smooth_regression(self.rules.most_degree, False)
        gain = _clipped(self._straightened.log_densities - simple)
        return smooth.independent * gain - float(smooth.noise.cost.sum())

    @cached_property
    def _straightened(self) -> Straightened:
        return self.smooth_regression(self.rules.most_degree, False).straightened(self.sample)

    @property
    def turns_fast(self) -> bool:
        """Whether the drift typically changes so much over a step that the regression may take it for noise."""
        return self.drift_change > self.rules.fast_drift_change

    def jump_network(self, key: PRNGKeyArray) -> tuple[JumpNetwork, int]:
        """Builds jumps that are alike everywhere, and how many of a step to tell apart."""
        return self._jump({"width": 0, "depth": 0}, key)

    def regression(self, noise: str) -> DriftRegression:
        """Gives the least squares of the drift for a form of the noise."""
        return self._relative_regression if noise == "relative" else self._constant_regression

    @cached_property
    def _constant_regression(self) -> DriftRegression:
        return DriftRegression(self.sample, self.moments.jumped, "constant", self.rules)

    @cached_property
    def _relative_regression(self) -> DriftRegression:
        return DriftRegression(self.sample, self.moments.jumped, "relative", self.rules)

    @property
    def likelier_regression(self) -> DriftRegression:
        """Least squares for the likelier form of the noise."""
        return self.regression(self.likelier_noise)

    @property
    def likelier_noise(self) -> str:
        """Constant or relative noise, whichever explains better what a quadratic drift leaves."""
        return "relative" if self._relative_gain > 0 else "constant"  # 0 where no coordinate has a size

    def plausible_noise(self) -> list[str]:
        """Lists the forms of the noise worth a trial, the simplest first.

        Constant and relative noise exclude each other where one explains far better what a quadratic drift leaves.
        """
        if self.noiseless.any():
            return ["constant"] if self.noiseless.all() else ["constant", "plain"]
        gain, margin = self._relative_gain, self.rules.noise_form_gain
        if gain == 0:  # angles or logarithms only, which have no size that noise could be in proportion to
            return ["constant", "plain"]
        return [*(["constant"] if gain < margin else []), "plain", *(["relative"] if gain > -margin else [])]

    def polynomial_forms(self, noise: str | None) -> list[ModelForm]:
        """Lists the polynomial laws worth a try, lower degrees first.

        Args:
            noise: The form of the noise as asked; None: the likelier one.

        Returns:
            Forms without networks; none where noise or jumps need them.
        """
        if self.noiseless.any() or noise not in (None, *POLYNOMIAL_NOISE_FORMS):
            return []
        noise = noise or self.likelier_noise
        return [ModelForm(noise, degree=degree, networks=False) for degree in self.regression(noise).degrees()]

    def generator(self, form: ModelForm, keys: Keys) -> Generator:
        """Builds a law of a form at its starting values.

        Args:
            form: Of the law.
            keys: Gives random keys for the weights of the networks.

        Returns:
            The law.
        """
        sizes = self._sizes(form)
        drift, factor = self.drift(form, keys()), self._factor(form, sizes, keys())
        measure, order = self._jump(sizes, keys()) if self.jumps else (None, 1)
        jump = None if measure is None else PoissonJump(measure, order)
        return Generator.of_free(Advection(drift), Diffusion(factor), jump, self.constraint)

    def drift(self, form: ModelForm, key: PRNGKeyArray) -> DriftNetwork:
        """Builds the drift of the free coordinates: speeds of order one, and the polynomial by least squares."""
        sample = self.sample
        speed = np.sqrt(np.mean(sample.velocity**2, axis=0))
        scale, inputs = float32(np.where(speed > 0, speed, 1.0)), sample.x.shape[1]
        shape = {"degree": form.degree, "inputs": inputs, "pairs": sample.pairs}
        drift = DriftNetwork(scale, **self._sizes(form), **shape, key=key)
        coefficients = self.regression(form.noise).coefficients(form.degree, midpoint=not form.networks)
        return drift.starting_from(*map(float32, coefficients))

    def _moments(self, displacement: Float[np.ndarray, "t r"]):
        return self.sample.moments(displacement, self.jumps, self.rules.noiseless)

    def _without_noise(self) -> Bool[np.ndarray, " r"]:
        noise = np.sqrt(self.sample.typical_step * np.diag(self.residual_moments.noise))
        return noise < 2 * self.rules.noiseless * self.sample.deviation

    def _resolution_decision(self, names: tuple[str, ...]) -> Decision:
        still = [names[int(i)] if names else str(i) for i in self.sample.free[self.noiseless]]
        return Decision(
            "Which coordinates have no noise of their own?",
            ", ".join(still),
            {"resolution of the score, in standard deviations": self.rules.resolution},
            f"those whose calm motion a quadratic drift explains to {2 * self.rules.noiseless:g} standard deviations "
            "a step; their motion is scored with that resolution, which is no part of the law",
            "resolution",
        )

    def _shapes_depend_on_state(self) -> bool:
        asked, rules = self.options.jump_shapes, self.rules
        if asked is not None or self.mixture is None:
            return asked == "state-dependent"
        share, chance = share_explained_by_state(
            self.mixture, self.residual, self.moments.jumped, self.sample.x, rules.state_dependent_deviations
        )
        found = share > max(rules.state_dependent_share, chance)
        self.decisions.append(
            Decision(
                "Do the shapes of the jumps depend on the state?",
                "yes" if found else "no",
                {"share of the jumps' variance that the state explains": share, "share by chance": chance},
                f"yes above {rules.state_dependent_share:.0%} and above chance",
                "jump shapes",
            )
        )
        return bool(found)

    @cached_property
    def _relative_gain(self) -> float:
        """Nats per transition by which relative noise explains better what a quadratic drift leaves."""
        if (self.sample.amplitude == 1).all():  # no coordinate has a size
            return 0.0
        constant = self.residual_moments.log_prob(self.residual, self.sample.step)
        return float(np.mean(self._relative_log_prob(self.residual) - constant))

    def _relative_log_prob(self, rest: Float[np.ndarray, "t r"]) -> Float[np.ndarray, " t"]:
        """Log densities of residuals under noise in proportion to the state."""
        sample, scaled = self.sample, rest / self.sample.amplitude
        return self._moments(scaled).log_prob(scaled, sample.step) - np.log(sample.amplitude).sum(axis=1)

    def _jump(self, sizes: dict[str, int], key: PRNGKeyArray) -> tuple[JumpNetwork, int]:
        """The jump measure, and how many jumps of a step to tell apart."""
        moments, mixture, step = self.moments, self.mixture, self.sample.typical_step
        components = mixture.components if mixture else self.options.components or 1
        size, noise = np.sqrt(np.diag(moments.jump)), np.sqrt(step) * np.asarray(cholesky(moments.noise))
        network = JumpNetwork(
            float32(size),
            float32(noise),
            moments.rate,
            components,
            state_dependent_shapes=self.state_dependent_shapes and sizes["depth"] > 0,
            inputs=self.sample.x.shape[1],
            **sizes,
            key=key,
        )
        if mixture is not None and (components > 1 or sizes["depth"] == 0):
            network = network.starting_from(mixture)
        return network, series_order(moments.rate * step, components, self.rules)

    def _sizes(self, form: ModelForm) -> dict[str, int]:
        """Width and depth of the networks."""
        return {"width": self.options.width, "depth": self.options.depth if form.networks else 0}

    def _factor(self, form: ModelForm, sizes: dict[str, int], key: PRNGKeyArray) -> Any:
        """The noise; without networks it starts independent, so that correlations are parameters to be dropped."""
        factor = cholesky if form.networks else lambda noise: np.diag(np.sqrt(np.diag(noise)))
        sample = self.sample
        if form.noise != "relative":
            noise = (self.moments if form.networks else self.residual_moments).noise
            return FACTORS[form.noise](float32(factor(noise)), **sizes, inputs=sample.x.shape[1], key=key)
        displacement = sample.displacement if form.networks else self.regression("relative").residual()
        noise = self._moments(displacement / sample.amplitude).noise
        near_zero = sample.near_zero if form.networks else self.rules.near_zero_polynomial * sample.near_zero
        start, origin, size = map(float32, (factor(noise), sample.origin, near_zero))
        noisy = None if self.constraint is None else self.constraint.free
        options = {"origin": origin, "size": size, "noisy": noisy, "sizeless": sample.sizeless}
        return RelativeFactor(start, **sizes, **options, key=key)


def initial_generator(
    data: Trajectories, coordinates: Coordinates, options: NetworkOptions, keys: Keys, seed: int
) -> Generator:
    """Builds a law without jumps at the data's averages: linear drift by least squares, noise of any form.

    Args:
        data: Recorded trajectories.
        coordinates: Those of training.
        options: Sizes of the networks.
        keys: Gives random keys for their weights.
        seed: Of what is drawn at random.

    Returns:
        The law.

    Example:
        >>> import jax
        >>> keys, options = iter(jax.random.split(jax.random.key(0))), nke.Likelihood(width=4, depth=1)
        >>> coordinates = nke.Coordinates.zscore(data)
        >>> generator = nke.fitting.initial_generator(data, coordinates, options, lambda: next(keys), seed=0)
        >>> initial = nke.Model(generator, coordinates, 0.1, data.names, data.units)
        >>> round(float(initial.drift([[1.0]])[0, 0]))  # the data's is −x
        -1
    """
    initial = InitialModel(data.transitions(), coordinates, False, options, seed, SelectionRules())
    return initial.generator(ModelForm("plain"), keys)


def _clipped(gains: Float[np.ndarray, " t"], most: float = 5.0) -> float:
    """The sum of gains, none of which counts for more than some nats, so that jumps decide nothing."""
    return float(np.clip(gains, -most, most).sum())
