"""The words of the prompts, and the switches that vary them.

A small model asked the same question gives the same answer: a third of its valid replies to a
plain prompt are one heuristic. Each switch below is a way to ask differently each time. `PRESETS`
are the combinations that ``bench/prompts.py`` compares; `DEFAULT` is what a run uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

SYSTEM = "You are an expert in heuristic algorithms. You write short, correct NumPy code."

INSTRUCTIONS = MappingProxyType(
    {
        "i1": "Design a new heuristic.",
        "e1": "Design a new heuristic that is totally different from the ones above.",
        "e2": "Find the idea that the heuristics above share, and build a new one on it.",
        "m1": "Modify the heuristic above: keep what works and change its rule.",
        "m2": "Keep the rule of the heuristic above and change its parameters.",
    }
)

INGREDIENT = "Use this in it: {feature}."
EDIT = "Make this change: {edit}."
FORMAT_BEGUN = "Finish the idea in one sentence, then write at most {lines} lines of code."
FORMAT_WHOLE = (
    "Answer with one Python code block and nothing else: the complete function, whose first line "
    "is a comment `# Idea:` with one sentence, then at most {lines} lines of code."
)

# Concrete changes, one drawn per proposal, that make sense for any scoring heuristic.
EDITS = MappingProxyType(
    {
        "m1": (
            "add one more term to the score",
            "multiply or divide two terms instead of adding them",
            "look one step further ahead before choosing",
            "use another rule near the end than at the start",
            "divide each term by its mean, so that the terms have the same scale",
            "replace a mean by a minimum, a maximum or a median",
            "apply a square root, a square or an exponential to one term",
            "score only a shortlist of the most promising choices, with more care",
            "penalise choices that leave an awkward rest",
            "subtract what is lost if the choice is not made now",
        ),
        "m2": (
            "use a weight that is half as large",
            "use a weight that is twice as large",
            "give one more term a small negative weight",
            "let a weight shrink as fewer choices are left",
            "let a weight grow as fewer choices are left",
            "change an exponent",
            "consider more choices, or fewer",
            "replace a fixed number by one computed from the inputs",
        ),
    }
)


@dataclass(frozen=True)
class Wording:
    """How prompts are worded. All shares are probabilities per proposal, 0 … 1."""

    tried: int = 0  # ideas already tried that every prompt shows
    ingredient: float = 0.0  # share told to use one of the problem's features, drawn at random
    ingredient_for: tuple[str, ...] = ("i1", "e1", "e2", "m1")  # operators that are told
    idea: str = ""  # start of the begun idea; "{feature}" is the drawn ingredient
    edit: float = 0.0  # share of m1 and m2 told one of EDITS
    code_for: tuple[str, ...] = ("e1", "e2", "m1", "m2")  # operators shown their parents' code
    rule_only: bool = False  # of a parent that has a rule show the rule alone: shorter to read
    regrow: float = 0.0  # share of m1 whose reply begins with the parent up to a point in its rule
    parameter: float = 0.0  # share of m2 whose reply begins with the parent up to a changed number
    inherit: float = 0.0  # share of e2 whose opening names its parents' features, not drawn ones
    opening: float = 0.0  # share of i1, e1 and e2 whose reply begins by naming the drawn features
    mixed: int = 3  # features drawn for an opening, at most
    rule: bool = False  # with an opening: the idea is given, and the reply begins with the rule too
    lines: int = 20  # of code, at most, as asked for


_PLAIN = Wording()
_FEATURE = replace(_PLAIN, ingredient=1.0)
_BEGUN = replace(_FEATURE, idea=" weigh the choices by {feature} and")

_RULE = replace(
    _FEATURE,
    opening=1.0,
    rule=True,
    idea=" weigh the choices by {feature}",
    edit=0.5,
    regrow=0.9,
    parameter=0.9,
    inherit=0.8,
    code_for=("e2", "m1", "m2"),
)

PRESETS = MappingProxyType(
    {
        "plain": _PLAIN,
        "tried": replace(_PLAIN, tried=6),
        "feature": _FEATURE,
        "feature-begun": _BEGUN,
        "feature-tried": replace(_FEATURE, tried=6),
        "edit": replace(_FEATURE, edit=0.5),
        "regrow": replace(_FEATURE, edit=0.5, regrow=0.5, parameter=0.7),
        "lean": replace(_FEATURE, edit=0.5, regrow=0.5, parameter=0.7, code_for=("e2", "m1", "m2")),
        "opening": replace(_FEATURE, opening=1.0, edit=0.5, regrow=0.5, parameter=0.7),
        "opening-begun": replace(_BEGUN, opening=1.0, edit=0.5, regrow=0.5, parameter=0.7),
        "opening-rule": _RULE,
        "opening-brief": replace(_RULE, rule_only=True),
        "opening-half": replace(_FEATURE, opening=0.5, edit=0.5, regrow=0.5, parameter=0.7),
        "full": replace(_BEGUN, edit=0.5, regrow=0.5, parameter=0.7, tried=6),
    }
)
DEFAULT = "opening-rule"


def wording(name: str | Wording) -> Wording:
    """The preset of that name; a `Wording` stays itself. Raises ValueError naming the presets."""
    if isinstance(name, Wording):
        return name
    if name not in PRESETS:
        raise ValueError(f"no wording is called {name!r}; choose one of: {', '.join(PRESETS)}")
    return PRESETS[name]
