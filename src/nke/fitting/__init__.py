"""From transitions to a law: methods, the search over candidate laws, optimisers, the result."""

from nke.fitting.batches import Blocks, Steps
from nke.fitting.decisions import Decision, Estimate, division
from nke.fitting.equation import Equation, JumpComponent, JumpLaw, NoiseLaw, Term
from nke.fitting.evidence import best_subset, maximise_evidence
from nke.fitting.fit import fit
from nke.fitting.form import ModelForm
from nke.fitting.initial_moments import local_deviation, moments_without_jumps
from nke.fitting.initial_networks import initial_generator
from nke.fitting.likelihood import Likelihood
from nke.fitting.method import Method, StructuredMethod
from nke.fitting.moment_matching import MomentMatching
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.result import FitResult
from nke.fitting.rules import SelectionRules
from nke.fitting.stochastic import CHUNK, Curve, Schedule, StageCheckpoint, TrainingLog
from nke.fitting.tails import Tails
from nke.fitting.training import FitRun, Trainer

__all__ = [
    "CHUNK",
    "Blocks",
    "Curve",
    "Decision",
    "Equation",
    "Estimate",
    "FitResult",
    "FitRun",
    "JumpComponent",
    "JumpLaw",
    "Likelihood",
    "Method",
    "ModelForm",
    "MomentMatching",
    "NoiseLaw",
    "Optimised",
    "Outcome",
    "Schedule",
    "SelectionRules",
    "StageCheckpoint",
    "Steps",
    "StructuredMethod",
    "Tails",
    "Term",
    "Trainer",
    "TrainingLog",
    "best_subset",
    "division",
    "fit",
    "initial_generator",
    "local_deviation",
    "maximise_evidence",
    "moments_without_jumps",
]
