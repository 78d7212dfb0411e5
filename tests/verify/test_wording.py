"""What is said of a claim: its limits and knowledge in words, and a digest of what is too much to say."""

from dataclasses import replace

import pytest

from extbnsl.core.knowledge import Knowledge
from extbnsl.verify.document import ClaimedResult, Provenance
from extbnsl.verify.question import Question, knowledge_digest
from extbnsl.verify.wording import _which, knowledge_told, printable

NAMES = ("asia", "tub", "smoke", "lung", "bronc")
CLAIM = ClaimedResult(
    variables=NAMES,
    order=NAMES,
    status="optimal",
    score="mdl",
    cost=0.0,
    lower_bound=0.0,
    upper_bound=0.0,
    parents={},
    max_parents=None,
    provenance=Provenance("0", 10),
)


def question(limit=None, **knowledge):
    """What a result with this limit and knowledge answers."""
    return Question(replace(CLAIM, max_parents=limit, knowledge=Knowledge(**knowledge)), 10, {})


@pytest.mark.parametrize(
    ("limit", "knowledge", "said"),
    [
        (None, {}, " over 5 variables"),
        (0, {}, " in which all 5 variables have no parents"),
        (1, {}, " in which no variable has more than 1 parent"),
        (None, {"roots": NAMES}, " in which all 5 variables have no parents"),
        (None, {"max_parents": [(name, 0) for name in NAMES]}, " in which all 5 variables have no parents"),
        (
            None,
            {"roots": NAMES[:2], "max_parents": [("smoke", 0)]},
            " in which all variables but lung, bronc have no parents",
        ),
        (None, {"roots": ("tub",)}, " in which tub has no parents"),
        (2, {"leaves": NAMES[:2]}, " in which no variable has more than 2 parents; asia, tub have no children"),
        (
            None,
            {"max_parents": [("tub", 2), ("lung", 1)]},
            " in which lung has at most 1 parent; tub has at most 2 parents",
        ),
        (
            None,
            {"required": [("asia", "tub")], "forbidden": [("tub", "asia"), ("lung", "tub")]},
            " in which asia -> tub must be there; tub -> asia, lung -> tub must not be there",
        ),
        (None, {"allowed": [("asia", "tub")]}, " in which arcs join asia - tub alone"),
        (None, {"tiers": [NAMES[:2], NAMES[2:]]}, " in which no arc goes back in 2 tiers"),
        (
            None,
            {"apart": [NAMES[:2], NAMES]},
            f" in which no arc joins two of asia, tub; no arc joins two of all {len(NAMES)} variables",
        ),
        (
            None,
            {"apart": [NAMES[:2]] * 13},
            " in which " + 10 * "no arc joins two of asia, tub; " + "no arc joins two of one of 3 more sets",
        ),
    ],
)
def test_among_which_networks_in_words(limit, knowledge, said):
    assert _which(question(limit, **{key: tuple(value) for key, value in knowledge.items()})) == said


def told(**knowledge):
    return knowledge_told(question(**knowledge))


def test_knowledge_is_told_in_full_with_a_digest():
    assert knowledge_told(question()) is None
    said = told(required=(("asia", "tub"),), tiers=(NAMES[:1], NAMES[1:3]), max_parents=(("lung", 2),))
    assert said.startswith("required asia -> tub; tiers asia < tub, smoke; max_parents lung=2 (digest ")


def test_sets_without_arcs_are_told():
    assert told(apart=(("asia", "tub"), ("lung", "tub"))).startswith("apart (asia, tub), (lung, tub) (digest ")


def test_what_is_not_said_of_much_knowledge_is_in_the_digest():
    arcs = tuple((f"v{i}", f"v{i + 1}") for i in range(100))
    said, other = told(forbidden=arcs), told(forbidden=(*arcs[:-1], ("v99", "v98")))
    assert "v39 -> v40 and 60 more (digest " in said
    assert said.partition(" (digest")[0] == other.partition(" (digest")[0]
    assert said != other


def test_the_digest_is_of_what_knowledge_says():
    one = Knowledge(forbidden=(("a", "b"), ("c", "d")), allowed=(("a", "b"),), tiers=(("a", "b"), ("c",)))
    same = Knowledge(forbidden=(("c", "d"), ("a", "b")), allowed=(("b", "a"),), tiers=(("b", "a"), ("c",)))
    assert knowledge_digest(one) == knowledge_digest(same)
    for other in (
        replace(one, tiers=(("c",), ("a", "b"))),
        replace(one, forbidden=(("a", "b"), ("d", "c"))),
        replace(one, roots=("a",)),
        replace(one, leaves=("a",)),
        replace(one, max_parents=(("a", 1),)),
        replace(one, apart=(("a", "b"),)),
    ):
        assert knowledge_digest(one) != knowledge_digest(other)


def test_a_sentence_stays_on_its_line():
    assert printable("a\nproof  \r\x1b[2K\u2028") == "a\\nproof  \\r\\x1b[2K\\u2028"
    assert printable("naïve 中 -> ok") == "naïve 中 -> ok"
