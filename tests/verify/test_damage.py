"""Damaged certificates: whatever is no certificate is refused in one sentence."""

import json
import math

import pytest
from certified import proved

from extbnsl.errors import RunDirectoryError
from extbnsl.verify.certificate import read_certificate
from extbnsl.verify.units import MOST_UNITS

TAKEN_AWAY = object()


def change(path, value):
    """The certificate of `proved()` with the value at `path` replaced or taken away."""
    document = json.loads(json.dumps(proved().certificate.to_document()))
    with_cuts = next(i for i, c in enumerate(document["components"]) if c["passes"][0]["cuts"])
    path = [with_cuts if key == "with cuts" else key for key in path]
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is TAKEN_AWAY:
        del at[path[-1]]
    else:
        at[path[-1]] = value(at[path[-1]]) if callable(value) else value
    return document


FIRST = ("components", 0)
WITH_CUTS = ("components", "with cuts")
PASS = (*WITH_CUTS, "passes", 0)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("components",), TAKEN_AWAY, "'components'"),
        (("components",), 3, "list"),
        (("components",), [], "in no component"),
        (FIRST, 1, "'variables'"),
        ((*FIRST, "variables"), lambda v: [*v, "stranger"], "stranger"),
        ((*FIRST, "variables"), lambda v: v + v, "v"),
        ((*FIRST, "variables"), [], "without variables"),
        ((*FIRST, "variables"), [1], "names"),
        ((*FIRST, "lower_bound"), math.nan, "finite"),
        ((*FIRST, "lower_bound"), math.inf, "finite"),
        ((*FIRST, "lower_bound"), -math.inf, "finite"),
        ((*FIRST, "lower_bound"), 10**400, "finite"),
        ((*FIRST, "lower_bound"), True, "finite"),
        ((*FIRST, "lower_bound"), "1", "finite"),
        (("units_per_nat",), 1 << 37, "units to the nat"),
        (("units_per_nat",), float(1 << 36), "whole number"),
        (("units_per_nat",), TAKEN_AWAY, "'units_per_nat'"),
        ((*FIRST, "proof"), "faith", "'clusters', 'search'"),
        ((*FIRST, "proof"), "search", "passes"),
        ((*FIRST, "passes"), [], "passes"),
        ((*FIRST, "passes"), None, "list"),
        ((*PASS, "cuts", 0), [[]], "empty cluster"),
        ((*PASS, "cuts", 0), lambda c: [c[0] + c[0]], "twice"),
        ((*PASS, "cuts", 0), [["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0], ["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), [], "a cut of 0 clusters"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0]], "a cut of 2 clusters"),
        ((*PASS, "cuts"), lambda c: c[1:], "multipliers"),
        ((*PASS, "cuts"), "v0", "list of cuts"),
        ((*PASS, "cuts"), [["v0"]], "list of cuts"),
        ((*PASS, "multipliers", 0), 0, "above 0"),
        ((*PASS, "multipliers", 0), -1, "above 0"),
        ((*PASS, "multipliers", 0), 1.0, "above 0"),
        ((*PASS, "multipliers", 0), True, "above 0"),
        ((*PASS, "multipliers", 0), math.nan, "above 0"),
        ((*PASS, "multipliers", 0), math.inf, "above 0"),
        ((*PASS, "multipliers", 0), MOST_UNITS, "units together"),
        ((*PASS, "multipliers", 0), 10**400, "units together"),
        ((*PASS, "multipliers"), lambda m: [*m, 1], "multipliers"),
        ((*WITH_CUTS, "least"), {}, "'least'"),
        ((*WITH_CUTS, "least"), lambda least: least | {"stranger": 1}, "stranger"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, 1.0), "whole"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, False), "whole"),
        ((*WITH_CUTS, "least"), lambda least: dict.fromkeys(least, -math.inf), "whole"),
    ],
)
def test_damage_is_one_sentence(path, value, says):
    with pytest.raises(RunDirectoryError) as caught:
        read_certificate(change(path, value), proved().network.names)
    message = str(caught.value)
    assert says in message
    assert message.endswith("it is damaged.")
    assert "\n" not in message
