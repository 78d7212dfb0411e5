"""Knowledge in files: what they say, and everything that can be wrong with them, with its line."""

import pytest

from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.formats.knowledge_file import read_knowledge

WHOLE = Knowledge(
    required=(("a", "b"),),
    forbidden=(("c", "d, e"),),
    allowed=(("a", "b"), ("b", "c")),
    tiers=(("a", "f"), ("b",)),
    roots=("a",),
    leaves=("1",),
    max_parents=(("b", 2),),
    apart=(("c", "f"), ("d, e", "f")),
)
YAML = """\
required: [[a, b]]
forbidden:
  - [c, "d, e"]
allowed: [[a, b], [b, c]]
tiers: [[a, f], [b]]
roots: [a]
leaves: [1]
max_parents: {b: 2}
apart: [[c, f], ["d, e", f]]
"""
CSV = """\
kind,first,second
required,a,b
forbidden,c,"d, e"

allowed,a,b
tier,10,b
tier,2, a
allowed,b,c
root,a
tier,2,f
leaf,1,
apart,2,"d, e"
max_parents,b,2
apart,1,c
# in no table
apart,1,f
apart,2,f
"""


def written(folder, text, name="known.yaml"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


NUMBERED = "".join(f'"{i or ""}",{line}\n' for i, line in enumerate(filter(None, CSV.split("\n"))) if "#" not in line)
SEMICOLONS = CSV.replace('"d, e"', "DE").replace(",", ";").replace("DE", "d, e")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("known.yaml", YAML), ("known.yml", YAML), ("known", YAML.encode("utf-8-sig")), ("known.txt", YAML)),
        *(("KNOWN.CSV", CSV), ("known.txt", CSV), ("known.csv", SEMICOLONS), ("known", CSV.split("\n", 1)[1])),
        ("known.csv", CSV.replace("\n", "\r\n").encode("utf-8-sig")),
        ("known.txt", NUMBERED),
    ],
)
def test_a_file_says_all_that_can_be_known(tmp_path, name, text):
    assert read_knowledge(written(tmp_path, text, name)) == WHOLE


@pytest.mark.parametrize("name", ["known.yaml", "known.csv"])
def test_an_empty_file_says_nothing(tmp_path, name):
    assert not read_knowledge(written(tmp_path, "", name))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("required: [[a]]\n", ["known.yaml:1: required.1: It should have at least 2 items"]),
        ("requires: []\nforbid: []\n", ["1: requires: There is no such key; use required", "2: forbid: There is no"]),
        ("required:\n  - [a, b]\n  - [a, true]\n", ["known.yaml:3: required.2.2: It should be a valid string"]),
        ("max_parents: {a: -1}\n", ["known.yaml:1: max_parents.a: It should be greater than or equal to 0, and is -1"]),
        (f"max_parents: {{a: {10**30}}}\n", ["known.yaml:1: max_parents.a: It should be less than or equal to 9223"]),
        ("tiers: a\n", ["known.yaml:1: tiers: It should be a valid list, and is 'a'."]),
        ("roots: [a]\nroots: [b]\n", ["known.yaml:2: roots: It is there already; leave one of them out."]),
        ("- a\n", ["known.yaml: It holds no knowledge: a mapping with required"]),
        ("required: [[a, b]\n", ["known.yaml:2: "]),
        ("a: &a [*a, *a]\n", ["It holds itself."]),
        ("required: [[a, b], [b, a]]\n", ["known.yaml: The required arcs make a cycle: "]),
        (b"\xff\xfe\x00", ["known.yaml: It is no YAML"]),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, text, sentences):
    with pytest.raises(InputError) as error:
        read_knowledge(written(tmp_path, text))
    for sentence in sentences:
        assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("required,a,b\nrequire,a,b\n", ["known.csv:2: 'require' is none of required, forbidden, allowed, tier, root"]),
        (
            "required,a\nroot,a,b\n",
            ["known.csv:1: 'required' needs two more fields", "known.csv:2: 'root' needs a var"],
        ),
        ("tier,first,a\nmax_parents,a,-2\n", ["1: 'first' is not a whole number", "2: '-2' is not a whole number"]),
        (f"tier,{'9' * 5000},a\n", ["known.csv:1: '999"]),
        ("max_parents,a,2\nmax_parents,a,2\nmax_parents,a,1\n", ["known.csv:3: 'a' has the limit 2 already; leave"]),
        ('required,"a\n', ["known.csv:1: It is no CSV"]),
        (b"required,\xff,a\n", ["known.csv: It is no text in UTF-8."]),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_told_with_its_line(tmp_path, text, sentences):
    with pytest.raises(InputError) as error:
        read_knowledge(written(tmp_path, text, "known.csv"))
    for sentence in sentences:
        assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["known.yaml", "known.csv"])
def test_a_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\)"):
        read_knowledge(tmp_path / name)
    with pytest.raises(InputError, match=r"has more than 4.0MiB"):
        read_knowledge(written(tmp_path, b"#" * (5 << 20), name))


@pytest.mark.slow
def test_many_facts_take_little_time(tmp_path):
    """What looks at all facts for each of them takes minutes."""
    many = range(40_000)
    chain = "".join(f"required,v{i + 1},v{i}\n" for i in many)
    forbidden = "".join(f"forbidden,v{i},w\n" for i in many)
    assert len(read_knowledge(written(tmp_path, chain + forbidden, "known.csv")).required) == len(many)
    closed = f"required,v0,v{len(many)}\n"
    with pytest.raises(InputError, match=r"make a cycle: 'v\d+' -> .* \(39,99\d more\) -> .*; leave one out") as error:
        read_knowledge(written(tmp_path, chain + closed, "known.csv"))
    assert len(str(error.value)) < 500
