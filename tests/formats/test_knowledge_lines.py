"""Knowledge in the files of other programs, and in tables of arcs."""

import contextlib
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.formats.knowledge_file import knowledge_of, read_knowledge
from extbnsl.formats.knowledge_lines import read_arcs

TETRAD = """\
/knowledge
addtemporal

1 smoke "age, years"
3* dis x*
2

forbiddirect
x1 dis

requiredirect
smoke dis
"""


def written(folder, text, name="known.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        TETRAD,
        TETRAD.replace("\n", "\r\n"),
        TETRAD.removeprefix("/knowledge\n"),
        f"// made by Tetrad\n{TETRAD}",
        TETRAD.replace("addtemporal", "AddTemp").replace("1 smoke", "1, smoke,").replace("dis x*", "dis\tx*"),
        TETRAD.replace("3* dis x*", "3* dis\n3 x*"),
        "requiredirect\nsmoke dis\n" + TETRAD.partition("requiredirect")[0],
    ],
)
@pytest.mark.parametrize("name", ["known.txt", "known.csv", "known.yaml", "known.prior"])
def test_knowledge_of_tetrad_is_read(tmp_path, text, name):
    assert read_knowledge(written(tmp_path, text, name)) == Knowledge(
        required=(("smoke", "dis"),),
        forbidden=(("x1", "dis"),),
        tiers=(("smoke", "age, years"), ("dis", "x*")),
        apart=(("dis", "x*"),),
    )


def test_groups_of_tetrad_are_all_arcs_from_causes_to_effects(tmp_path):
    text = "/knowledge\nforbiddengroup\na b\nb c\nd\na\n\nrequiredgroup\nx\ny z\n"
    assert read_knowledge(written(tmp_path, text)) == Knowledge(
        required=(("x", "y"), ("x", "z")), forbidden=(("a", "b"), ("a", "c"), ("b", "c"), ("d", "a"))
    )


def test_a_tier_that_can_cause_the_next_one_alone(tmp_path):
    found = read_knowledge(written(tmp_path, "/knowledge\naddtemporal\n0*- a b\n1 c\n3 d e\n"))
    assert found.tiers == (("a", "b"), ("c",), ("d", "e"))
    assert found.apart == (("a", "b"),)
    assert set(found.forbidden) == set(itertools.product("ab", "de"))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("/knowledge\na b\n", ["known.txt:2: 'a b' is in no section; begin with one of addtemporal"]),
        (
            "addtemporal\nfirst a\nforbiddirect\na\na b c\n",
            [
                "known.txt:2: 'first' is no number of a tier, such as 1 or 1*",
                "known.txt:4: 1 name, where an arc has a parent and a child",
                "known.txt:5: 3 names, where",
            ],
        ),
        ("forbiddengroup\na\nrequiredirect\na b\n", ["known.txt:3: The group before it has no line of effects"]),
        ("forbiddengroup\na b\n", ["known.txt: Its last group has no line of effects; add one."]),
        ("requiredirect\na b\nforbiddirect\na b\n", ["known.txt: The arc from 'a' to 'b' is required, but it is forb"]),
        ("addtemporal\n1 a\n2 a\n", ["known.txt: tiers: 'a' is there twice"]),
        ("requiredgroup\na\na\n", ["required: only 'a' fits both, and no arc joins a variable to itself"]),
        (b"forbiddirect\na \xff\n", ["known.txt: It is no text in UTF-8."]),
        (
            "forbiddengroup\n" + 2 * (" ".join(f"v{i}" for i in range(2000)) + "\n"),
            ["forbidden: all pairs of 2,000 and 2,000 variables are 4,000,000 arcs"],
        ),
    ],
)
def test_what_is_wrong_with_a_file_of_tetrad_is_told(tmp_path, text, sentences):
    with pytest.raises(InputError) as error:
        read_knowledge(written(tmp_path, text))
    for sentence in sentences:
        assert sentence in str(error.value)


GOBNILP = """\
# what is known
A<-B
~A <- C
~C-D
E->F<-G
sink F
"""


@pytest.mark.parametrize("text", [GOBNILP, GOBNILP.replace("\n", "\r\n"), "\n".join(GOBNILP.split("\n")[1:])])
def test_constraints_of_gobnilp_are_read(tmp_path, text):
    assert read_knowledge(written(tmp_path, text, "known.con")) == Knowledge(
        required=(("B", "A"), ("E", "F"), ("G", "F")),
        forbidden=(("C", "A"),),
        apart=(("C", "D"), ("E", "G")),
        leaves=("F",),
    )


@pytest.mark.parametrize("line", ["A-B", "A<--B", "~A<--B", "~A->C<-B", "A_|_B", "A_|_B|C", "A<B", "A->B", "A"])
def test_a_constraint_of_gobnilp_that_cannot_be_kept_to_is_named(tmp_path, line):
    with pytest.raises(
        InputError, match=r"known.txt:2: .* cannot be kept to here; a constraint is A<-B, ~A<-B"
    ) as error:
        read_knowledge(written(tmp_path, f"~X<-Y\n{line}\n"))
    assert f"{line!r} cannot" in str(error.value)


WORDS = [*'ab,;<>-~*"\t\n ', "\n", "0", "9" * 30, "<-", "->", "sink ", "_|_", "[a, b]", "{", "#", "\xff", "\0"]
WORDS += ["/knowledge", "addtemporal", "forbiddirect", "requiredgroup", "1*", "2-"]
WORDS += ["tier,", "apart,1,", "required,", "from,to\n", "roots: "]


@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join), st.sampled_from(["k.csv", "k.txt", "k.yaml"]))
def test_any_text_is_knowledge_or_refused_in_a_sentence(tmp_path, text, name):
    path = written(tmp_path, text.encode("latin-1"), name)
    with contextlib.suppress(InputError):
        read_knowledge(path)
    with contextlib.suppress(InputError):
        read_arcs(path, "allowed")


ARCS = (("smoke", "dis"), ("age, years", "x"))
R_CSV = '"","from","to"\n"1","smoke","dis"\n"2","age, years","x"\n'


@pytest.mark.parametrize(
    "text",
    [
        R_CSV,
        R_CSV.encode("utf-8-sig"),
        R_CSV.replace('"from","to"', '"V1","V2"'),  # of a matrix
        R_CSV.replace("\n", "\r\n"),
        'from,to\nsmoke,dis\n"age, years",x\n',
        'Parent, Child\nsmoke, dis\n\n"age, years", x\n',
        "source;target\nsmoke;dis\nage, years;x\n",
        "tail\thead\nsmoke\tdis\nage, years\tx\n",
        'smoke,dis\n"age, years",x\n',
        '"from" "to"\n"1" "smoke" "dis"\n"2" "age, years" "x"\n',  # write.table
        '"smoke" "dis"\n"age, years" "x"\n',
    ],
)
def test_a_table_of_arcs_is_read(tmp_path, text):
    assert read_arcs(written(tmp_path, text), "required") == ARCS
    assert knowledge_of({"forbidden": tmp_path / "known.txt", "required": [["a", "b"]]}) == Knowledge(
        required=(("a", "b"),), forbidden=ARCS
    )


def test_an_empty_table_has_no_arcs(tmp_path):
    for text in ("", "from,to\n", '"","from","to"\n'):
        assert read_arcs(written(tmp_path, text), "required") == read_arcs(tmp_path / "known.txt", "forbidden") == ()
        with pytest.raises(InputError, match=r"known\.txt has no arc, so that none were allowed"):
            read_arcs(tmp_path / "known.txt", "allowed")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "from,to\na,b\na\na,b,0.5\nb,\n",
            [
                "known.txt:3: 1 field, where an arc has a parent and a child: 'a'",
                "known.txt:4: 3 f",
                "known.txt:5: 2 f",
            ],
        ),
        ("from,to,strength\na,b,0.5\n", ["known.txt:1: 3 fields, where an arc has a parent and a child: 'from,to,str"]),
        ('a,"b\n', ["known.txt:1: It is no CSV"]),
        (b"a,\xff\n", ["known.txt: It is no text in UTF-8."]),
    ],
)
def test_what_is_wrong_with_a_table_of_arcs_is_told(tmp_path, text, sentences):
    with pytest.raises(InputError) as error:
        read_arcs(written(tmp_path, text), "forbidden")
    for sentence in sentences:
        assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["known.csv", "known.txt", "known.yaml"])
@pytest.mark.parametrize("text", [R_CSV, "parent;child\na;b\n"])
def test_a_table_of_arcs_does_not_say_what_they_are(tmp_path, name, text):
    with pytest.raises(InputError, match="It is a table of arcs: give it to --required, --forbidden or --allowed"):
        read_knowledge(written(tmp_path, text, name))
