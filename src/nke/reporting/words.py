"""The words and tables of a report, as plain text: the page and the Markdown folder escape and arrange them."""

import hashlib
import json
import platform
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from nke.data import Trajectories
from nke.evaluation import Finding
from nke.fitting import SelectionRules
from nke.fitting.decisions import in_words
from nke.fitting.summary import law_rows
from nke.model import Model
from nke.model.words import column_rows, figure, jump_rows, noise_rows, shift_rows, table, title
from nke.plots.numbers.calibration import LEVELS
from nke.plots.style import clipped
from nke.reporting.contents import Contents

PACKAGES = ("nke", "jax", "numpy", "scipy", "equinox")


class Table(NamedTuple):
    """A table as text.

    Attributes:
        headings: Of its columns.
        rows: Its cells.
    """

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class Verdict:
    """Whether to believe a law.

    Attributes:
        level: "good", "care" or "bad".
        words: The outcome.
        problems: What speaks against the law: what was seen, and what to do.
        before: What the diagnosis of the fit said, where that differs.
    """

    level: str
    words: str
    problems: list[tuple[str, str]]
    before: str


def verdict(contents: Contents) -> Verdict:
    """Takes the outcome of the diagnosis in this data, and that of the fit beside it."""
    diagnosis = contents.diagnosis
    level = "good" if diagnosis.passed else "bad" if diagnosis.severe else "care"
    earlier = None if contents.result is None else contents.result.diagnosis
    same = earlier is None or earlier.verdict == diagnosis.verdict
    warnings = [] if contents.result is None else [each.warning for each in contents.result.decisions if each.warning]
    problems = [(finding.meaning, finding.advice) for finding in diagnosis.problems]
    problems += [(words, "") for words in warnings]
    words = "Nothing speaks against this law" if diagnosis.passed else _capital(diagnosis.verdict)
    return Verdict(level, words, problems, "" if same or earlier is None else earlier.verdict)


def checks(contents: Contents) -> Table:
    """Everything that was compared, also what is right."""
    rows = [_finding(finding) for finding in contents.diagnosis.findings]
    return Table(("check", "deviation looked for", "size", "matters from", "p-value", "outcome"), rows)


def _finding(finding: Finding) -> tuple[str, ...]:
    matters = "matters" if finding.matters else "fine"
    tolerance, chance = figure(finding.tolerance), f"{finding.p_value:.2g}"
    return finding.check, finding.topic, figure(finding.size), tolerance, chance, matters


def law_words(contents: Contents) -> list[tuple[str, list[str]]]:
    """The law in words: topics with their sentences."""
    model, found = contents.model, contents.model.coefficients()
    if contents.result is not None:
        rows = list(law_rows(contents.result, found))
    else:
        rows = [("law", title(model)), *column_rows(model), *noise_rows(found), *jump_rows(found), *shift_rows(found)]
    topics: list[tuple[str, list[str]]] = []
    for topic, words in rows:
        if topic:
            topics.append((topic, [words.strip()]))
        else:
            topics[-1][1].append(words.strip())
    return topics


def law_table(contents: Contents) -> str:
    """What depends on the state, over the range of the data."""
    return "\n".join(table(contents.model.coefficients()))


def coordinate_table(contents: Contents) -> Table:
    """Names in full, units and ranges."""
    states, model = contents.data.observed_states, contents.model
    rows = [
        (name, unit or "not given", *(figure(value, 4) for value in (x.min(), x.mean(), x.max(), x.std())))
        for name, unit, x in zip(model.names, model.units, states.T, strict=True)
    ]
    return Table(("coordinate", "unit", "lowest", "mean", "highest", "standard deviation"), rows)


def score_table(contents: Contents) -> Table:
    """This law beside others."""
    rows = []
    for k, each in enumerate(contents.scores):
        gain = "" if k == 0 else f"{figure(each.gain)} ± {figure(each.error, 2)}"
        rows.append((each.name, f"{each.score:.4f}", gain))
    return Table(("law", "mean log density of a transition [nats]", "beside this law"), rows)


def path_table(contents: Contents) -> Table | None:
    """Distances of simulated from recorded paths, beside those of chance."""
    if contents.chance is None:
        return None
    rows = [(each.name, *map(figure, each.paths)) for each in contents.scores if each.paths is not None]
    rows.append(("chance alone, if this law is right", *map(figure, contents.chance)))
    return Table(("law", "Mean MSE", "Covariance MSE", "Wasserstein"), rows)


def coverage_table(contents: Contents) -> Table | None:
    """How many recorded motions lie within the law's intervals."""
    if not contents.calibration:
        return None
    rows = [(found.name, *(f"{100 * share:.1f} %" for share in found.coverage)) for found in contents.calibration]
    return Table(("coordinate", *(f"{100 * level:.0f} % interval" for level in LEVELS)), rows)


class DecisionWords(NamedTuple):
    """A decision as text.

    Attributes:
        question: What had to be decided.
        answer: What was chosen.
        evidence: What the data said, line by line.
        rule: How the evidence leads to the answer.
    """

    question: str
    answer: str
    evidence: list[str]
    rule: str


def decisions(contents: Contents) -> list[DecisionWords]:
    """What the fit decided, and why."""
    found = () if contents.result is None else contents.result.decisions
    return [DecisionWords(each.question, each.answer, in_words(each.evidence), each.rule) for each in found]


def configuration(contents: Contents, command: str) -> Table:
    """What is needed to make the law and this report again."""
    model, result, data = contents.model, contents.result, contents.data
    rows = [
        ("data", data_in_words(data)),
        ("fingerprint of the data (SHA-256)", fingerprint(data)),
        ("seed of what is simulated here", str(contents.seed)),
        ("discrete model of a step", f"{model.rule!r}, step {model.step:g} {model.unit_of_time}".rstrip()),
        ("simulation", repr(model.splitting)),
        ("columns learned as", ", ".join(map(repr, model.coordinates.transforms))),
    ]
    if result is not None and result.form is not None:
        rows.append(("form of the law", str(result.form)))
    if result is not None:
        changed = changed_rules(result.rules)
        rows.append(("rules other than the default", ", ".join(changed) or "none"))
    rows.append(("versions", ", ".join([f"Python {platform.python_version()}", *_versions()])))
    if command:
        rows.append(("command", command))
    return Table(("", ""), rows)


def configuration_json(contents: Contents) -> str:
    """Everything that the fit says of itself, for machines."""
    found: dict[str, Any] = {"names": contents.model.names, "step": contents.model.step}
    if contents.result is not None:
        found |= contents.result.to_dict()
        found.pop("diagnosis")
    return json.dumps(found, indent=1, ensure_ascii=False, default=str)


def changed_rules(rules: SelectionRules) -> list[str]:
    """The rules that are not the default, with their values."""
    usual = SelectionRules()
    names = [each.name for each in fields(rules)]
    return [f"{name} = {getattr(rules, name)}" for name in names if getattr(rules, name) != getattr(usual, name)]


def fingerprint(data: Trajectories) -> str:
    """A digest of states and times, which tells whether data is the same.

    Args:
        data: Recorded trajectories.

    Returns:
        Hexadecimal digits.
    """
    digest = hashlib.sha256()
    for states, times in zip(data.states, data.times, strict=True):
        digest.update(np.ascontiguousarray(states, "<f8").tobytes())
        digest.update(np.ascontiguousarray(times, "<f8").tobytes())
    return digest.hexdigest()


def data_in_words(data: Trajectories) -> str:
    """What the data is: how many trajectories and rows, of what, when."""
    return repr(data).removeprefix("Trajectories(").removesuffix(")")


def heading(model: Model) -> str:
    """A title for a report: the law of these coordinates."""
    names = ", ".join(map(clipped, model.names[:4])) + (", …" if model.dimension > 4 else "")
    return f"The law of {names}"


def _versions() -> list[str]:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # run from its source
            continue
    return found


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
