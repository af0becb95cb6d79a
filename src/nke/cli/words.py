"""Advice in the words of the command line: what the library says of its arguments, as flags."""

import re
import shlex

# Arguments of the library that are options of a command by the same name, and what is said otherwise.
OPTIONS = (
    "jumps", "networks", "noise", "positive", "periodic", "bounds", "kinetic", "invariant", "step", "time", "states",
    "trajectory", "wide", "delimiter", "decimal", "calendar", "time_unit", "dates",
)  # fmt: skip
NAMES = {
    "nke.Likelihood": "--method likelihood",
    ", or read the model alone with nke.load": "",
    "nke.cache() before the fit": "the cache, unless NKE_CACHE=off,",
}
ARGUMENT = re.compile(
    rf"\b({'|'.join(OPTIONS)})="
    r"(?: \(--[\w-]+\)"  # the flag stands behind it already
    r"|(True|False)\b(?: or None)?"
    r"|None\b(?: or True)?"
    r"|'([^']*)'(?: \(--[^)]*\))?"
    r"|(\[[^\]]*\]|\{[^}]*\})"
    r"|(-?[\d.]+)(?: \(--[^)]*\))?"
    r")"
)


def as_flags(words: str) -> str:
    """Says in flags what a message says in Python.

    Args:
        words: Of a message.

    Returns:
        The same, with ``jumps=False`` as ``--no-jumps`` and alike.

    Example:
        >>> as_flags("fit with jumps=False, or name it with time= (--time)")
        'fit with --no-jumps, or name it with --time'
        >>> as_flags("say noise='constant', positive=['u', 'v'] or bounds={'share': (0, 1)}")
        'say --noise constant, --positive u --positive v or --bounds share:0:1'
    """
    for said, flag in NAMES.items():
        words = words.replace(said, flag)
    return ARGUMENT.sub(_flag, words)


def _flag(found: re.Match[str]) -> str:
    name, truth, text, group, number = found.groups()
    flag = f"--{name.replace('_', '-')}"
    if truth is not None:
        return flag if truth == "True" else f"--no-{name}"
    if text is not None or number is not None:
        return f"{flag} {number if text is None else text}"
    if group is not None:
        return _repeated(flag, name, group)
    return flag if found[0].endswith(")") else f"neither {flag} nor --no-{name}"


def _repeated(flag: str, name: str, group: str) -> str:
    """An option that takes one column at a time, once for each."""
    pairs = re.findall(r"'([^']*)'\s*:\s*('[^']*'|\([^)]*\)|[^,}]+)", group)
    if pairs and name == "kinetic":
        return f"{flag} {','.join(f'{x}:{v.strip(chr(39))}' for x, v in pairs)}"
    if pairs:
        said = [(column, re.sub(r"[()\s]", "", value).replace(",", ":")) for column, value in pairs]
        return " ".join(f"{flag} {shlex.quote(f'{column}:{value}')}" for column, value in said)
    columns = re.findall(r"'([^']*)'", group)
    if columns:
        return " ".join(f"{flag} {shlex.quote(column)}" for column in columns)
    return f"{flag} COLUMN" if "..." in group else f"{flag} none"
