"""The Kolmogorov likelihood: each observed state pushed through the learned equation, the next one scored."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import InputError
from nke.fitting.beginning import NOISES, WITHOUT_NETWORKS, Beginning, Form, float32
from nke.fitting.few_parameters import (
    BATCH,
    FROM_AFAR,
    ITERATIONS,
    ROUGHLY,
    FewParameters,
    LeftOver,
    left_over,
    runs_away,
)
from nke.fitting.jump_detection import has_jumps
from nke.fitting.kinetic import kinematic_constraint, likely_positions
from nke.fitting.loop import CHUNK, Blocks, FitRun, Schedule, Trainer, checked, losses
from nke.fitting.result import FitResult
from nke.fitting.start import motion_size
from nke.fitting.words import drift_in_words, jumps_in_words, resolution_in_words, step_in_words, warn_of_jumps
from nke.model import Model
from nke.operators import ForwardPacket, Generator, PoissonJump, TransitionRule

SOME = 100_000  # transitions that averages of the data are taken over
SKEW = 2.0  # preference for large motions in the batches of a fit with jumps: see docs/design.md
USUAL = 100_000  # transitions for which the length of the training and its decay were chosen
STEPS = (1000, 3000)  # per coordinate and at most
LEAST_STEPS = 600
WEIGHT_DECAY = 0.15  # of the networks' matrices
MOST_DECAY = 1.0
PATIENCE = 15  # chunks: the last, slow steps are mostly the best, so a fit hardly ever stops early
JUMP_SHAPES = ("shared", "state-dependent")
TRIAL = 400  # steps of a short run
MARGIN = 0.003  # nats by which a richer form must win: it makes up for a drift not learned yet
MOST_SUBSTEPS = 8
TURNING = 0.1  # change of the drift over a step, of itself, from which on two sub-steps are the fewest tried
WORSE = 2.0  # standard errors by which a polynomial must predict worse than a drift network not to replace it
UNUSED = 0.02  # mean share of the jumps below which a component of their law is dropped
JumpDecision = Callable[[Transitions], tuple[bool, str]]


class Steps(NamedTuple):
    """Transitions in dimensionless coordinates."""

    x: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]


class TransitionLoss(eqx.Module):
    """−log p(y | x, s) of one transition: the very density of ``Model.log_prob``."""

    rule: TransitionRule

    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        return -self.rule.log_prob(generator, data.x[i], data.displacement[i], data.step[i])


@dataclass(frozen=True)
class Likelihood:
    """Joint maximum likelihood of drift, diffusion and jumps; steps may differ from transition to transition.

    ``noise`` is the form of the diffusion: "constant", "plain" (any function of the state), "diagonal" (likewise,
    independent between coordinates) or "relative" (in proportion to the state, times any function of it);
    ``substeps`` cuts each step of the discrete model; None leaves the choice to short runs, compared by their
    held-out likelihood. ``components`` is the number of Gaussians in the law of one jump (None: up to four, as many
    as the displacements ask for); their means and covariances are "shared" by all states, only rate and shares
    depending on them, or "state-dependent" (``jump_shapes``; None: as the displacements ask for). ``width`` and
    ``depth`` are those of the networks. The best parameters on a held-out share are kept. ``kinetic`` names the
    coordinates that are positions of others, ``{"x": "vx"}``: dx = vx dt is then taken as known, and only the others
    are learned and scored; ``invariant`` names those on which the law does not depend, as in a space that is the same
    everywhere. ``networks`` None takes them only where a law of few parameters (drift by powers of the state, noise
    constant or in proportion to it, jumps alike everywhere) leaves something over, and for the drift only where a
    polynomial beside the other networks does; True takes them in any case, False in none. ``rule`` is the discrete
    model of one step. Without a ``schedule`` training takes 1000 steps per coordinate, at most 3000, and with little
    data down to a third of that, at least 600; one of your own replaces all of the default one, its weight decay and
    patience too.
    """

    components: int | None = None
    jump_shapes: str | None = None
    noise: str | None = None
    substeps: int | None = None
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    kinetic: Mapping[str, str] | None = None
    invariant: Sequence[str] = ()
    networks: bool | None = None
    rule: TransitionRule = field(default_factory=ForwardPacket)
    schedule: Schedule | None = None

    def __post_init__(self):
        if (
            (self.components is not None and self.components < 1)
            or self.width < 1
            or self.depth < 1
            or not 0 < self.held_out < 1
        ):
            raise InputError("expected components, width, depth ≥ 1 and held_out between 0 and 1")
        if self.noise is not None and self.noise not in NOISES:
            raise InputError(f"expected noise to be None or one of {', '.join(NOISES)}, but got {self.noise!r}")
        if self.jump_shapes is not None and self.jump_shapes not in JUMP_SHAPES:
            raise InputError(
                f"expected jump_shapes to be None or one of {', '.join(JUMP_SHAPES)}, but got {self.jump_shapes!r}"
            )
        if self.networks is False and self.noise not in (None, *WITHOUT_NETWORKS):
            raise InputError(
                f"networks=False goes with noise {' or '.join(WITHOUT_NETWORKS)}, or None; but got {self.noise!r}"
            )
        if self.substeps is not None and not 1 <= self.substeps <= MOST_SUBSTEPS:
            raise InputError(f"expected substeps between 1 and {MOST_SUBSTEPS}, or None, but got {self.substeps}")

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        return self.fit_deciding(partial(decide_jumps, jumps, coordinates, run.seed), data, coordinates, run)

    def fit_deciding(self, jumps: JumpDecision, data: Trajectories, coordinates: Coordinates, run: FitRun) -> FitResult:
        """``jumps`` tells from transitions whether there are jumps, and why."""
        clock = time.perf_counter()
        training, checking = (part.transitions() for part in data.split(self.held_out, run.seed))
        decided = {"data": f"{len(training)} transitions to train, {len(checking)} held out"}
        some = _some(training, np.random.default_rng(run.seed))
        found, words = jumps(some)
        if words:
            decided["jumps"] = words
        trainer = run.trainer(self.schedule or schedule_for(data.dimension, len(training)))
        if not self.kinetic and (pairs := likely_positions(some, data.names)):
            decided["hint"] = f"positions that follow their velocities? Then say so: Likelihood(kinetic={pairs})"
        constraint = kinematic_constraint(self.kinetic or {}, self.invariant, data.names, some, coordinates)
        start = Beginning(some, coordinates, found, self, run.seed, constraint)
        if start.noiseless.any():
            decided["resolution"] = resolution_in_words(start, data.names)
        skew = SKEW if found else 1.0
        blocks = [_blocks(part, coordinates, skew, start.free) for part in (training, checking)]
        prepared = time.perf_counter() - clock
        learned = self._learn(start, blocks, trainer, decided, partial(drift_in_words, data, coordinates))
        generator = _pruned(learned.generator, float32(start.x)) if found else learned.generator
        rule = self._rule(learned.form, start)
        model = Model(generator, coordinates, float(np.median(some.step)), data.names, data.units, rule)
        unseen = _some(checking, np.random.default_rng(run.seed))
        if found:
            decided |= jumps_in_words(model, unseen, start.shapes_in_words)
        decided["step"] = step_in_words(model, unseen)
        score = _score(model, unseen) if generator is not learned.generator else learned.score(model, blocks[1])
        decided["score"] = f"{score:.4f} mean log density per held-out transition"
        return FitResult(model, trainer.history, {"preparation": prepared, **trainer.timings()}, decided)

    def _rule(self, form: Form, start: Beginning) -> TransitionRule:
        if not isinstance(self.rule, ForwardPacket):
            return self.rule
        resolution = tuple(map(float, start.resolution)) if start.noiseless.any() else None
        return replace(self.rule, substeps=form.substeps, resolution=resolution)

    def _learn(
        self,
        start: Beginning,
        blocks: list[Blocks],
        trainer: Trainer,
        decided: dict[str, str],
        formula: Callable[[FewParameters, Float[np.ndarray, "p p"]], str],
    ) -> "Learned":
        """Networks only where a law without them leaves something over, and where they then predict better."""
        few = None if self.networks else self._without_networks(start, blocks, trainer, decided)
        if few is not None and (self.networks is False or few.enough):
            learned = None
        else:
            learned = self._better_with_networks(few, start, blocks, trainer, decided)
        if learned is None:
            assert few is not None
            decided["drift"] = formula(few.law, few.information)
            decided["method"] = self._in_words(few.form)
            return Learned(few.form, few.law.generator, few.losses)
        decided["method"] = self._in_words(learned.form)
        alone = None if self.networks else self._drift_alone(learned, start, blocks, trainer, decided)
        if alone is None:
            return learned
        decided["drift"] = formula(alone.law, alone.information)
        decided["method"] = self._in_words(learned.form, alone.form)
        return Learned(learned.form, alone.law.generator, alone.losses)

    def _better_with_networks(
        self, few: "Few | None", start: Beginning, blocks: list[Blocks], trainer: Trainer, decided: dict[str, str]
    ) -> "Learned | None":
        """None where they predict no better than the law without them."""
        try:
            form, decided["noise"] = self._choose(start, blocks, trainer, few)
            loss = TransitionLoss(self._rule(form, start))
            generator = trainer.train("likelihood", loss, start.generator(form, trainer.key), blocks)
        except FloatingPointError:
            if few is None:
                raise
            decided["networks"] = "their training left the finite numbers"
            return None
        learned = Learned(form, generator, np.asarray(losses(loss, generator, blocks[1]), np.float64))
        if few is None:
            return learned
        gain, error = _paired((few.losses - learned.losses)[few.fine])
        decided["networks"] = f"held-out gain over the polynomial {gain:+.4f} ± {error:.4f} nats"
        return learned if gain > error else None

    def _drift_alone(
        self, learned: "Learned", start: Beginning, blocks: list[Blocks], trainer: Trainer, decided: dict[str, str]
    ) -> "Few | None":
        """A polynomial instead of the drift network, noise and jumps as they were learned, if that is enough.

        Not without noise: every small error of the drift then leaves something over.
        """
        form, rule, words = learned.form, self._rule(learned.form, start), []
        for degree in [] if start.noiseless.any() else start.degrees_asked(form.noise):
            simple = replace(form, degree=degree, networks=False)
            whole = eqx.tree_at(lambda g: g.advection.drift, learned.generator, start.drift(simple, trainer.key()))
            law = FewParameters(rule, whole, start.origin, only_drift=True)
            try:
                few = self._settled(simple, law, start, blocks, trainer)
            except FloatingPointError:
                words.append(f"degree {degree} has no maximum")
                continue
            gain, error = _paired((learned.losses - few.losses)[few.fine])
            words.append(
                f"degree {degree} leaves {few.left['drift']} nats over, held-out gain {gain:+.4f} ± {error:.4f}"
            )
            if few.enough and gain > -WORSE * error and not runs_away(few.law.generator, start.x, start.typical):
                decided["drift network"] = f"none: {words[-1]}"
                return few
        if words:
            decided["drift network"] = "; ".join(words)
        return None

    def _in_words(self, form: Form, drift: Form | None = None) -> str:
        """``drift``: its form where it differs."""
        drift = drift or form
        networks = f"networks of {self.depth} × {self.width}" if form.networks else "no networks"
        return (
            f"Kolmogorov likelihood by {type(self.rule).__name__}; noise {form.noise}; drift polynomial of degree "
            f"{drift.degree}{' and network' if drift.networks else ''}; "
            f"{form.substeps} sub-step{'s' if form.substeps > 1 else ''}; {networks}"
        )

    def _without_networks(
        self, start: Beginning, blocks: list[Blocks], trainer: Trainer, decided: dict[str, str]
    ) -> "Few | None":
        """The law without networks that predicts the held-out steps best."""
        best, words, before = None, [], None
        # Sub-steps cost no parameters, so they come before a higher degree.
        for form in [
            replace(simple, substeps=n) for simple in start.simplest(self.noise) for n in self._cuts(simple, start)
        ]:
            if best is not None and (form.substeps < best.form.substeps or best.has_enough_of(form)):
                continue
            known = before.law.generator if before is not None and before.form.degree == form.degree else None
            try:
                few = before = self._maximum(form, start, blocks, trainer, known)
            except FloatingPointError:
                words.append(f"{form}: has no maximum")
                continue
            away = runs_away(few.law.generator, start.x, start.typical)
            words.append(f"{few}{', runs away in simulation' if away else ''}")
            if not away and (best is None or few.loss < best.loss):
                best = few
            if best is not None and best.enough:
                break
        if words:
            decided["left over"] = "nats that networks might gain: " + "; ".join(words)
        if best is None and self.networks is False:
            raise InputError(
                "networks=False, but noise or jumps depend on the state in a way that needs them, or every polynomial "
                f"drift runs away in simulation ({'; '.join(words) or 'none was tried'}); say networks=None"
            )
        return best

    def _cuts(self, form: Form, start: Beginning) -> tuple[int, ...]:
        """Numbers of sub-steps to try."""
        if self.substeps is not None or form.noise != "relative" or not isinstance(self.rule, ForwardPacket):
            return (self.substeps or 1,)
        return (2, 4) if np.median(start.turning(start.x, start.step)) > TURNING else (1, 2, 4)

    def _maximum(
        self, form: Form, start: Beginning, blocks: list[Blocks], trainer: Trainer, known: Generator | None
    ) -> "Few":
        """Maximum likelihood without networks, without what is not needed: by Newton's method.

        It begins at the law that is ``known`` with other sub-steps or by least squares, or where it does not get
        anywhere from there, after a short run.
        """
        rule = self._rule(form, start)
        loss, begin = TransitionLoss(rule), known or start.generator(form, trainer.key)
        first = _described(_part(blocks[0], BATCH), start)[0]
        law = FewParameters(rule, begin, start.origin)
        with trainer.clock("Newton's method"):
            near = law.approach(first, trainer.run.stage("Newton's method, from afar", FROM_AFAR))
        if not near:
            law = FewParameters(rule, trainer.train(f"polynomial: {form}", loss, begin, blocks, TRIAL), start.origin)
            law.approach(first)
        return self._settled(form, law, start, blocks, trainer)

    def _settled(
        self,
        form: Form,
        law: FewParameters,
        start: Beginning,
        blocks: list[Blocks],
        trainer: Trainer,
    ) -> "Few":
        """At the maximum without what is not needed, and what that leaves over."""
        some, seen = _described(_part(blocks[0], SOME), start)
        report = trainer.run.stage("Newton's method", 2 * ITERATIONS)
        with trainer.clock("Newton's method"):
            law.drop(law.maximise(some, enough=ROUGHLY, report=report), len(some.step))
            information = law.maximise(some, report=report)
            if blocks[0].blocks > SOME:
                information = law.maximise(_described(blocks[0].arrays, start)[0], 2)
            scores = law.scores(some)
        left = {
            group.name: left_over(
                scores[:, group.parameters],
                seen,
                alike=group.name != "drift",
                telling=float(start.law.jumped.mean()) if group.name == "jumps" else 1.0,
            )
            for group in law.groups()
        }
        held_out = _held_out(blocks[1])
        return Few(form, law, -law.log_prob(held_out), left, information, start.described(*_seen(held_out, start)))

    def _choose(self, start: Beginning, blocks: list[Blocks], trainer: Trainer, few: "Few | None") -> tuple[Form, str]:
        """The form of the model by short runs, one question after the other; and the evidence in words."""
        forms, words = start.plausible() if self.noise is None else [self.noise], []
        if few is not None and few.needs_noise_network and self.noise is None:
            forms = [noise for noise in forms if noise != "constant"]
        form = Form(forms[0], self.substeps or 1)
        scores: dict[Form, np.ndarray] = {}

        def score(form: Form) -> np.ndarray:
            if form not in scores:
                loss, begin = TransitionLoss(self._rule(form, start)), start.generator(form, trainer.key)
                tried = trainer.train(f"trial: {form}", loss, begin, blocks, TRIAL, kind="trial")
                scores[form] = np.asarray(losses(loss, tried, blocks[1]), np.float64)
            return scores[form]

        def consider(**change) -> None:
            nonlocal form
            rival = replace(form, **change)
            gain, error = _paired(score(form) - score(rival))
            words.append(f"{rival} over {form} {gain:+.4f} ± {error:.4f}")
            richer = form.noise == "constant" or rival.noise == form.noise
            form = rival if gain > error + MARGIN * richer else form

        for noise in forms[1:]:
            consider(noise=noise)
        if form.noise == "relative":
            open_substeps = self.substeps is None and isinstance(self.rule, ForwardPacket)
            if open_substeps:
                consider(substeps=2)
            consider(degree=2)
            if open_substeps and form.substeps == 2:
                consider(substeps=4)
        if words:
            return form, "held-out gain of short runs, nats: " + "; ".join(words)
        return form, "none found" if self.noise is None else "as asked"


class Learned(NamedTuple):
    """A law and its losses on the held-out steps."""

    form: Form
    generator: Generator
    losses: Float[np.ndarray, " t"]

    def score(self, model: Model, held_out: Blocks) -> float:
        """Mean log density of the held-out steps in the units of the model; its program need not be compiled for it."""
        constraint = self.generator.constraint
        mean = -np.mean(np.asarray(checked(held_out)[1]) * self.losses)
        return float(model.coordinates.log_density_back(mean, constraint and constraint.free))


class Few(NamedTuple):
    """A law without networks, its losses on the held-out steps, what it leaves over, its information."""

    form: Form
    law: FewParameters
    losses: Float[np.ndarray, " t"]
    left: dict[str, LeftOver]
    information: Float[np.ndarray, "p p"]
    fine: Bool[np.ndarray, " t"]  # the held-out steps that a discrete model describes

    @property
    def loss(self) -> float:
        return float(self.losses[self.fine].mean())

    @property
    def enough(self) -> bool:
        return all(left.nothing for left in self.left.values())

    def has_enough_of(self, form: Form) -> bool:
        """A higher degree is for a drift that leaves something over."""
        return form.degree > self.form.degree and self.left["drift"].nothing

    @property
    def needs_noise_network(self) -> bool:
        """The drift is right, the noise is not: all transitions say that more surely than the held-out ones."""
        return self.left["drift"].nothing and not self.left["noise"].nothing

    def __str__(self) -> str:
        left = ", ".join(f"{name} {left}" for name, left in self.left.items())
        return f"{self.form}, {self.law.active.sum()} parameters: {left}"


def _part(blocks: Blocks, most: int) -> Steps:
    """At most so many of the transitions, of every size of motion alike."""
    count = blocks.blocks
    chosen = np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(int)
    return Steps(*(a[chosen] for a in blocks.arrays))


def _seen(steps: Steps, start: Beginning) -> tuple[Float[np.ndarray, "t d"], Float[np.ndarray, " t"]]:
    """States as the networks see them, and steps."""
    x = np.asarray(steps.x)
    return x if start.constraint is None else start.constraint.seen(x), np.asarray(steps.step)


def _described(steps: Steps, start: Beginning) -> tuple[Steps, Float[np.ndarray, "t d"]]:
    """Those that a discrete model describes, and their states as the networks see them."""
    seen, step = _seen(steps, start)
    fine = start.described(seen, step)
    return Steps(*(a[fine] for a in steps)), seen[fine]


def _held_out(blocks: Blocks) -> Steps:
    """Those that ``losses`` looks at."""
    return Steps(*(a[checked(blocks)[0]] for a in blocks.arrays))


def _pruned(generator: Generator, x: Float[Array, "t d"]) -> Generator:
    """Without the components of the jump law that are hardly ever used."""
    jump = generator.jump
    assert isinstance(jump, PoissonJump)
    network = jump.network
    share = np.asarray(jnp.mean(jax.vmap(lambda x: network(x)[1].weights)(x), axis=0))
    keep = [k for k in range(network.components) if share[k] > UNUSED]
    if len(keep) == network.components:
        return generator
    return eqx.tree_at(lambda g: g.jump.network, generator, network.prune(keep))


def _paired(difference: Float[np.ndarray, " t"]) -> tuple[float, float]:
    """Mean and standard error."""
    return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))


def schedule_for(dimension: int, transitions: int) -> Schedule:
    """Functions of fewer variables are learned in fewer steps; little data in fewer still, and with more decay."""
    share = transitions / USUAL
    steps = min(STEPS[0] * dimension, STEPS[1]) * np.clip(share ** (1 / 3), 1 / 3, 1)
    return Schedule(
        max(CHUNK * round(steps / CHUNK), LEAST_STEPS),
        weight_decay=min(WEIGHT_DECAY / max(share, 1e-9) ** 0.5, MOST_DECAY),
        patience=PATIENCE,
        particles=1024,
    )


def _some(part: Transitions, rng: np.random.Generator) -> Transitions:
    """All of a part, or as many at random as averages need."""
    return part if len(part) <= SOME else part.take(np.sort(rng.choice(len(part), SOME, replace=False)))


def _blocks(part: Transitions, coordinates: Coordinates, skew: float, free: Int[np.ndarray, " r"]) -> Blocks:
    """Transitions by falling size of the motion: every batch then has its share of large and small ones."""
    moved, step = coordinates.displacement_to(part.displacement), coordinates.step_to(part.step)
    order = _largest_first(motion_size(moved[:, free], step))
    steps = Steps(float32(coordinates.to(part.x)[order]), float32(moved[order]), float32(step[order]))
    return Blocks(steps, len(part), 1, skew)


def _largest_first(size: Float[np.ndarray, " t"]) -> Int[np.ndarray, " t"]:
    """Indices by falling size, told apart to 16 bits: a radix sort takes a fifth of the time of a full one."""
    typical = np.median(size) or 1.0
    return np.argsort((np.iinfo(np.uint16).max * (typical / (typical + size))).astype(np.uint16), kind="stable")


def _score(model: Model, part: Transitions) -> float:
    return float(model.log_prob(part.y, part.x, part.step).mean())


def decide_jumps(asked: bool | None, coordinates: Coordinates, seed: int, some: Transitions) -> tuple[bool, str]:
    """As asked, otherwise from the data; warns where the data disagrees with ``asked=False``."""
    if asked is True:
        return True, ""
    found, words = has_jumps(some, coordinates, np.random.default_rng(seed))
    if asked is None:
        return found, words
    if found:
        warn_of_jumps(words)
    return False, "none, as asked"
