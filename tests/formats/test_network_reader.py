"""Reading networks: what each program writes means the same, whatever the format, and what is none is one sentence."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extbnsl
from extbnsl.core.errors import InputError
from extbnsl.formats.network_reader import is_network_file, read_network

LABELS = (("Never", "Very Often"), ("<=55", "(55,67]", ">67"), ("no", "yes"))
TABLES = (
    np.array([0.25, 0.75]),
    np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]),
    np.array([[[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [[0.6, 0.4], [0.5, 0.5], [0.0, 1.0]]]),
)


def reading(tmp_path, text, name="n.bif", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return read_network(path)


def assert_is_the_example(read, labels=LABELS, names=("a", "b", "c")):
    """a -> b, and both -> c, in whichever order the file has them."""
    place = [read.network.names.index(name) for name in names]
    for x, parents in enumerate(((), (0,), (0, 1))):
        assert read.states[place[x]] == labels[x]
        assert set(read.network.parents[place[x]]) == {place[p] for p in parents}
        order = sorted(parents, key=lambda p: place[p])
        table = TABLES[x].transpose(*order, len(parents))
        assert np.array_equal(read.tables[place[x]], table)
    assert len(read.tables) == len(names)


OF_BNLEARN = """\
network unknown {
}
variable a {
  type discrete [ 2 ] { Never, Very Often };
}
variable b {
  type discrete [ 3 ] { <=55, (55,67], >67 };
}
variable c {
  type discrete [ 2 ] { no, yes };
}
probability ( a ) {
  table 0.25, 0.75;
}
probability ( b | a ) {
  (Never) 0.5, 0.5, 0.0;
  (Very Often) 1e-01, 0.2, 0.7;
}
probability ( c | a, b ) {
  (Never, <=55) 0.9, 0.1;
  (Very Often, <=55) 0.6, 0.4;
  (Never, (55,67]) 0.8, 0.2;
  (Very Often, (55,67]) 0.5, 0.5;
  (Never, >67) 0.7, 0.3;
  (Very Often, >67) 0.0, 1.0;
}
"""
OF_PGMPY = """\
network unknown {
}
variable a {
    type discrete [ 2 ] { Never, Very Often };
    property weight = None ;
}
variable b {
    type discrete [ 3 ] { <=55, (55,67], >67 };
}
variable c {
    type discrete [ 2 ] { no, yes };
}
probability ( a ) {
    table 0.25, 0.75 ;
}
probability ( b | a ) {
    ( Never ) 0.5, 0.5, 0.0;
    ( Very Often ) 0.1, 0.2, 0.7;

}
probability ( c | b, a ) {
    ( <=55, Never ) 0.9, 0.1;
    ( <=55, Very Often ) 0.6, 0.4;
    ( (55,67], Never ) 0.8, 0.2;
    ( (55,67], Very Often ) 0.5, 0.5;
    ( >67, Never ) 0.7, 0.3;
    ( >67, Very Often ) 0.0, 1.0;

}
"""
WORDS = (("Never", "Often"), ("low", "mid", "high"), ("0", "1"))
OF_PYAGRUM = """\
network "unnamedBN" {
// written by aGrUM 3.3.1
}

variable a {
   type discrete[2] {Never, Often};
}

variable b {
   type discrete[3] {low, mid, high};
}

variable c {
   type discrete[2] {0, 1};
}

probability (a) {
   table 0.25 0.75;
}
probability (b | a) {
   (Never) 0.5 0.5 0;
   (Often) 0.1 0.2 0.7;
}
probability (c | b, a) {
   (low, Never) 0.9 0.1;
   (mid, Never) 0.8 0.2;
   (high, Never) 0.7 0.3;
   (low, Often) 0.6 0.4;
   (mid, Often) 0.5 0.5;
   (high, Often) 0 1;
}

"""
OF_JAVABAYES = """\
// Bayesian network
network "Dog-Problem" { //3 variables and 3 probability distributions
	property "credal-set constant-density-bounded 1.1; {x}" ;
}
variable  "a" { //2 values
	type discrete[2] {  "Never"  "Very Often" };
	property "position = (73, 165)" ;
}
variable  "b" { //3 values
	type discrete[3] {  "<=55"  "(55,67]"  ">67" };
}
variable  "c" { //2 values
	type discrete[2] {  "no"  "yes" };
}
probability (  "c"  "a"  "b" ) { //3 variable(s) and 12 values
	table
		.9 .8 .7 .6 .5 0 // p(no | Never <=55), and so on
		.1 .2 .3 .4 .5 1 ;
}
probability (  "a" ) { //1 variable(s) and 2 values
	table 0.25 0.75;
}
probability (  "b"  "a" ) { //2 variable(s) and 6 values
	default 0.5 0.5 0.0;
	("Very Often") 0.1 0.2 0.7;
}
"""
XMLBIF = """\
<?xml version="1.0" encoding="US-ASCII"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
        <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>of Weka</NAME>
<VARIABLE TYPE="nature">
<NAME>a</NAME>
<OUTCOME>Never</OUTCOME>
<OUTCOME>Very
  Often</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>&lt;=55</OUTCOME><OUTCOME>(55,67]</OUTCOME>
<OUTCOME>&#62;67</OUTCOME></VARIABLE>
<DEFINITION>
<FOR>c</FOR>
<GIVEN>a</GIVEN>
<GIVEN>b</GIVEN>
<TABLE>
.9 .1 .8 .2 .7 .3 <!-- of Never -->
6e-1 4E-1 .5 .5 0 1
</TABLE>
</DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.5 0.5 0.0 0.1 0.2 0.7</TABLE></DEFINITION>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<VARIABLE><NAME>c</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
</NETWORK>
</BIF>
"""
XDSL = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- This network was created in GeNIe Academic -->
<smile version="1.0" id="Network1" numsamples="10000" discsamples="10000">
	<nodes>
		<cpt id="a" diagtype="target" ranked="true">
			<state id="Never" />
			<state id="Often" fault="true" />
			<probabilities>0.25 0.75</probabilities>
		</cpt>
		<cpt id="b">
			<state id="low" /><state id="mid" /><state id="high" />
			<parents>a</parents>
			<probabilities>0.5 0.5 0 0.1 0.2 0.7</probabilities>
		</cpt>
		<cpt id="c">
			<state id="s0" /><state id="s1" />
			<parents>a b</parents>
			<probabilities>0.9 0.1 0.8 0.2 0.7 0.3
				0.6 0.4 0.5 0.5 0 1</probabilities>
		</cpt>
	</nodes>
	<extensions>
		<genie version="1.0" app="GeNIe 2.0" name="Réseau">
			<submodel id="s"><name>S</name><node id="a"><name>Âge</name></node></submodel>
		</genie>
	</extensions>
</smile>
"""
OF_XDSL = (("Never", "Often"), ("low", "mid", "high"), ("s0", "s1"))
NET = """\
net
{
    node_size = (80 40);
    HR_Font_Name = "Arial; {x}";
}
% node z { of a comment }
node a
{
    label = "How often";
    position = (100 200);
    states = ("Never" "Very Often");
}
discrete node b
{
    subtype = interval;
    states = ("<=55" "(55,67]" ">67");
    state_values = (0 55 67 100);
}
node c
{
    states = ("no" "yes");
}
potential (c | a b)
{
    data = ((( 0.9 0.1 ) % Never  <=55
             ( 0.8 0.2 )
             ( 0.7 0.3 ))
            (( 0.6 0.4 )( 0.5 0.5 )( 0 1 )));
    experience = ((1 1 1)(2 2 2));
}
potential (a)
{
    data = ( .25 .75 );
}
potential (b | a)
{
    data = ((0.5 0.5 0.0)(1.0e-1 0.2 0.7));
}
"""
NET_OF_PGMPY = """\
net {
}
node a{
    states = ("Never"  "Very Often");
    weight = None;
}
node b{
    states = ("<=55"  "(55,67]"  ">67");
}
node c{
    states = ("no"  "yes");
}
potential (a |){
 data = (0.25 0.75);
}
potential (b | a){
 data = ((0.5 0.5 0.0)
 (0.1 0.2 0.7));
}
potential (c | b a){
 data = (((0.9 0.1)
  (0.6 0.4))

 ((0.8 0.2)
  (0.5 0.5))

 ((0.7 0.3)
  (0.0  1.0)));
}
"""
NET_OF_PYAGRUM = """\

net {
  name = unnamedBN;
  software = "aGrUM 3.3.1";
  node_size = (50 50);
}

node a {
   states = (Never Often );
   label = "a";
   ID = "a";
}
node b {
   states = (low mid high );
}
node c {
   states = (0 1 );
}
potential (a) {
   data = (  0.25 0.75);
}
potential ( b | a   ) {
   data =
   ((    0.5    0.5    0)   % a=Never
   (    0.1    0.2    0.7));   % a=Often
}
potential ( c | a   b   ) {
   data =
   (((    0.9    0.1)   % b=low   a=Never
   (    0.8    0.2)
   (    0.7    0.3))
   ((    0.6    0.4)
   (    0.5    0.5)
   (    0    1)));
}
"""
CLASS = "class of_6\n{\n    inputs = ();\n    node_size = (80 40);\n" + NET[NET.index("node a") :] + "\n}\n"


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (OF_BNLEARN, LABELS),
        (OF_PGMPY, LABELS),
        (OF_PYAGRUM, WORDS),
        (OF_JAVABAYES, LABELS),
        (OF_BNLEARN.replace("\n", "\r\n"), LABELS),
        (XMLBIF, LABELS),
        ("\ufeff" + XMLBIF.replace("US-ASCII", "utf-8"), LABELS),
        ("\n " + XMLBIF, LABELS),
        (XDSL, OF_XDSL),
        (NET, LABELS),
        (CLASS, LABELS),
        (NET_OF_PGMPY, LABELS),
        (NET_OF_PYAGRUM, WORDS),
    ],
)
@pytest.mark.parametrize("name", ["n.bif", "n.net", "n.xml", "n"])
def test_the_content_tells_the_format(tmp_path, text, labels, name):
    """What a program writes is the same network under any name."""
    encoding = "latin-1" if "ISO-8859-1" in text else "utf-8"
    assert_is_the_example(reading(tmp_path, text, name, encoding), labels)
    (tmp_path / "n.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert_is_the_example(read_network(tmp_path / "n.gz"), labels)


def test_it_is_public(tmp_path):
    (tmp_path / "n.bif").write_text(OF_BNLEARN)
    read = extbnsl.read_network(str(tmp_path / "n.bif"))
    assert read.network.parents_by_name() == {"a": [], "b": ["a"], "c": ["a", "b"]}


def test_noise_of_single_precision_is_0(tmp_path):
    assert_is_the_example(reading(tmp_path, OF_BNLEARN.replace("0.5, 0.0;", "0.5, -1.1920929E-7;")))
    with pytest.raises(InputError, match="line 16: expected numbers from 0 to 1, found '-1e-5'"):
        reading(tmp_path, OF_BNLEARN.replace("0.5, 0.0;", "0.5, -1e-5;"))


def test_names_and_states_of_net_may_have_any_characters_but_blanks(tmp_path):
    """Those with commas in brackets are of UnBBayes, that with % of pyAgrum, which writes comments behind blanks."""
    text = NET_OF_PYAGRUM.replace("node a ", "node f(x,1) ").replace("(a)", "(f(x,1))").replace("| a ", "| f(x,1) ")
    text = text.replace("Often )", "5_% )")
    assert_is_the_example(reading(tmp_path, text), (("Never", "5_%"), *WORDS[1:]), ("f(x,1)", "b", "c"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_xml_is_read_as_it_says_that_it_is_encoded(tmp_path, encoding):
    text = XMLBIF.replace("US-ASCII", encoding).replace("Never", "Jamais été")
    labels = (("Jamais été", "Very Often"), *LABELS[1:])
    assert_is_the_example(reading(tmp_path, text, encoding=encoding), labels)


def test_agrum_has_the_first_parent_of_xdsl_fastest(tmp_path):
    """As its writer says, whatever GeNIe and pgmpy make of the same file."""
    turned = "0.9 0.1 0.6 0.4 0.8 0.2 0.5 0.5 0.7 0.3 0 1"
    text = XDSL[: XDSL.index("0.9 0.1")] + turned + XDSL[XDSL.index("0 1</prob") + 3 :]
    assert_is_the_example(reading(tmp_path, text.replace("GeNIe 2.0", "aGrUM 3.3.1"), encoding="latin-1"), OF_XDSL)


def test_a_deterministic_node_has_a_state_for_each_configuration(tmp_path):
    node = "<deterministic id='d'><state id='f'/><state id='t'/><parents>a b</parents>"
    given = "<resultingstates>f t t f f t</resultingstates></deterministic></nodes>"
    read = reading(tmp_path, XDSL.replace("</nodes>", node + given), encoding="latin-1")
    assert read.tables[3][..., 1].tolist() == [[0, 1, 1], [0, 0, 1]]
    with pytest.raises(InputError, match="line 21: the state 'u' is none of f, t"):
        reading(tmp_path, XDSL.replace("</nodes>", node + given.replace("f t t", "f u t")))
    with pytest.raises(InputError, match="line 21: expected 6 states, found 5"):
        reading(tmp_path, XDSL.replace("</nodes>", node + given.replace("f t t", "f t")))


def test_states_of_hugin_without_labels_are_their_values(tmp_path):
    interval = NET.replace('("<=55" "(55,67]" ">67")', '("" "" "")')
    assert reading(tmp_path, interval).states[1] == ("[0,55)", "[55,67)", "[67,100)")
    numbers = interval.replace("interval", "number").replace("(0 55 67 100)", "(1 2 2.5)")
    assert reading(tmp_path, numbers).states[1] == ("1", "2", "2.5")
    for text in (interval.replace(" 100)", ")"), numbers.replace("2.5", "2.5 3"), interval.replace("interval", "x")):
        with pytest.raises(InputError, match=r"line 13: the states of 'b' have no labels: name them"):
            reading(tmp_path, text)


def test_names_may_have_blanks_and_any_letters(tmp_path):
    text = (
        OF_BNLEARN.replace("variable a", "variable wet grass")
        .replace("( a", "( wet grass")
        .replace("| a", "| wet grass")
    )
    assert_is_the_example(reading(tmp_path, text), names=("wet grass", "b", "c"))
    assert_is_the_example(reading(tmp_path, text.replace("wet grass", "日本")), names=("日本", "b", "c"))
    quoted = text.replace("wet grass", '"a, b | {c}; d"')
    assert_is_the_example(reading(tmp_path, quoted), names=("a, b | {c}; d", "b", "c"))


def test_the_number_of_states_decides_where_labels_end(tmp_path):
    def states(listed, count):
        return reading(
            tmp_path,
            f"variable x {{ type discrete [ {count} ] {{ {listed} }}; }}"
            f"probability ( x ) {{ table {'0 ' * (count - 1)} 1; }}",
        ).states[0]

    assert states("Very Often", 1) == ("Very Often",)
    assert states("Very Often", 2) == ("Very", "Often")
    assert states("a b, c", 2) == ("a b", "c")
    assert states("a b, c", 3) == ("a", "b", "c")
    assert states("(0, 1], [1, 2)", 2) == ("(0, 1]", "[1, 2)")
    assert states(", yes", 2) == ("", "yes")
    assert states("yes, ", 2) == ("yes", "")
    assert states('"", " x ", "a,b"', 3) == ("", " x ", "a,b")
    for listed, count in (("a b", 3), ('"a, b"', 2), ('5", 6"', 2), ("a, b", 1)):
        with pytest.raises(InputError, match=r"line 1: expected 'type discrete \[ k \] \{ k states \}' of 'x'"):
            states(listed, count)


def test_rows_of_net_are_divided_by_their_sum_as_hugin_does(tmp_path):
    """Those of other formats are refused; rows that are rounded stay as they are in the file."""
    counts = (
        NET.replace("( .25 .75 )", "( 25 75 )").replace("( 0.9 0.1 )", "( 27 3e0 )").replace("( 0.8 0.2 )", "( 4 1 )")
    )
    read, whole = reading(tmp_path, counts, "n.net"), reading(tmp_path, NET, "m.net")
    for table, expected in zip(read.tables, whole.tables, strict=True):
        assert table == pytest.approx(expected)
    rounded = reading(tmp_path, NET.replace("( .25 .75 )", "( .25 .76 )"), "r.net")
    assert rounded.tables[rounded.network.names.index("a")].tolist() == [0.25, 0.76]
    huge = reading(tmp_path, NET.replace("( .25 .75 )", "( 1e299 3e299 )"), "h.net")
    assert huge.tables[huge.network.names.index("a")].tolist() == [0.25, 0.75]


BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 10))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'<!DOCTYPE BIF [<!ENTITY e0 "ha">{BOMB}]><BIF>&e9;</BIF>', "line 1: entities have no place in a network"),
        ('<!DOCTYPE BIF [<!ENTITY x SYSTEM "file:///etc/passwd">]><BIF>&x;</BIF>', "line 1: entities have no place"),
        ('<!DOCTYPE BIF [<!ENTITY % x SYSTEM "http://h/x.dtd"> %x;]><BIF/>', "line 1: entities have no place"),
        ('<!DOCTYPE BIF SYSTEM "http://h/x.dtd"><BIF>&x;</BIF>', "line 1: entities have no place"),
        ("<BIF>" * 5000, "line 1: the elements are nested too deeply for a network"),
        ("<BIF>\n<NETWORK>", "line 2: it is no well-formed XML"),
        ("<BIF/>x", "no well-formed XML"),
        ("<", "no well-formed XML"),
        ("<?xml version='1.0' encoding='klingon'?><BIF/>", "well-formed XML|encoding that is not known"),
        ("<?xml version='1.0' encoding='shift_jis'?><BIF/>", "an encoding that is not known: save it as UTF-8"),
        ("<graphml/>", "is XML of <graphml>, and networks are in <BIF> or <smile>"),
        ("<BIF VERSION='0.15'/>", "line 1: it is XMLBIF of version '0.15': save it as 0.3"),
        ("<BIF/>", "line 1: <BIF> has 0 elements <NETWORK> instead of one"),
        ("<BIF><NETWORK/></BIF>", "declares no variable"),
        (XMLBIF.replace('"nature"', '"decision"', 1), "line 12: 'a' is a decision node"),
        (XMLBIF.replace("<FOR>a</FOR>", ""), "line 31: <DEFINITION> has 0 elements <FOR>"),
        (XMLBIF.replace("<FOR>a</FOR>", "<FOR>b</FOR>"), "line 31: 'b' has probabilities twice"),
        (XMLBIF.replace("<GIVEN>a", "<GIVEN>z"), "line 21: the variable 'z' is not declared"),
        (XMLBIF.replace("<GIVEN>a", "<GIVEN>b"), "line 21: the parent 'b' of 'c' is given twice"),
        (XMLBIF.replace("<NAME>b", "<NAME>a"), "line 19: the variable 'a' is declared twice"),
        (XMLBIF.replace("<OUTCOME>no", "<OUTCOME>yes"), "line 32: the variable 'c' has the state 'yes' twice"),
        (XMLBIF.replace("<OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>", ""), "line 32: the variable 'c' has no states"),
        (XMLBIF.replace("0.25 0.75", "0.25 0.8"), "line 31: the probabilities of 'a' sum to 1.05 instead of 1"),
        (XMLBIF.replace("0.25 0.75", "0.25"), "line 31: expected 2 probabilities, found 1"),
        (XMLBIF.replace("0.25", "9" * 400), "line 31: expected numbers from 0 to 1"),
        (XMLBIF.replace("0.25", "1e9999"), "line 31: expected numbers from 0 to 1"),
        (XMLBIF.replace("6e-1 ", ""), "line 25: expected 12 probabilities, found 11"),
        ("<smile/>", "<smile> has 0 elements <nodes>"),
        (
            XDSL.replace("cpt", "noisymax"),
            r"line 5: 'a' is a node of the kind 'noisymax' \(noisy-or and the like\), with",
        ),
        (XDSL.replace("cpt", "equation"), "line 5: 'a' is a node of the kind 'equation', without a table"),
        (XDSL.replace("</nodes>", "</nodes><dynamic numslices='5'/>"), "line 21: it is a dynamic network"),
        (XDSL.replace("<parents>a b", "<parents>a z"), "line 15: the variable 'z' is not declared"),
        (NET.replace("node a", "continuous node a"), "line 7: 'continuous node a' is no discrete variable"),
        (NET.replace("node a", "utility a"), "line 7: 'utility a' is no discrete variable"),
        (NET.replace("(c | a b)", "(c a | b)"), "line 23: the variables 'c' and 'a' have one table"),
        (NET.replace("(c | a b)", "(c | a z)"), "line 23: the variable 'z' is not declared"),
        (NET.replace("(c | a b)", "c | a b"), "line 23: expected the names of a variable and of its parents in round"),
        (NET.replace("(a)\n", "()\n"), "line 31: expected the name of a variable, found none"),
        (
            NET.replace("data = ( .25", "model_data = ( .25"),
            r"line 31: the potential of 'a' has no data but a model \(su",
        ),
        (
            NET.replace("data = ( .25 .75 );", ""),
            "line 31: the potential of 'a' has no data: compute its table in Hugin",
        ),
        (NET.replace("( .25 .75 )", "( 25 -75 )"), "line 31: expected numbers of at least 0, found '-75'"),
        (NET.replace("( .25 .75 )", "( 25 nan )"), "line 31: expected numbers of at least 0, found 'nan'"),
        (NET.replace("( .25 .75 )", "( 25 1e400 )"), "line 31: expected numbers of at least 0, found '1e400'"),
        (NET.replace("( .25 .75 )", "( 0 0 )"), "line 31: the probabilities of 'a' sum to 0 instead of 1"),
        (
            NET.replace("( 0.5 0.5 )", "( 0 0 )"),
            r"line 23: the probabilities of 'c' given \(a = Very Often, b = \(55,67\]\) sum to 0 instead of 1",
        ),
        (NET.replace("node a\n{", "node a\n"), "line 7: expected net, node.* and a block in braces, found 'node a'"),
        (NET.replace("node a\n{", "node\n{"), "line 7: expected a name and '{' behind it"),
        (NET.replace('states = ("no" "yes");', ""), "line 19: the variable 'c' has no states"),
        (NET.rstrip("}\n"), "ends in the middle of a block"),
        ("a,b\n0,1\n", "is none of BIF, XMLBIF, XDSL and NET: is it a file of a network"),
        ("", "is none of BIF, XMLBIF, XDSL and NET"),
    ],
)
def test_what_is_none_is_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        reading(tmp_path, text, "n.xyz")
    assert str(tmp_path / "n.xyz") in str(caught.value)
    assert "\n" not in str(caught.value)


TEXTS = (OF_BNLEARN, OF_PGMPY, OF_PYAGRUM, OF_JAVABAYES, XMLBIF, XDSL, NET, CLASS, NET_OF_PGMPY, NET_OF_PYAGRUM)
PARTS = st.sampled_from(
    ["", "{", "}", "(", ")", '"', ";", ",", "|", " ", "%", "//", "<", ">", "&", "\\", "0", "-1", "a", "\n"]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(TEXTS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), PARTS), min_size=1, max_size=3))
def test_damaged_files_are_networks_or_one_sentence(tmp_path_factory, text, changes):
    for share, length, part in changes:
        at = int(share * len(text))
        text = text[:at] + part + text[at + length :]
    path = tmp_path_factory.mktemp("damaged") / "n"
    path.write_text(text, encoding="latin-1" if "ISO" in text else "utf-8")
    said, read = "", None
    try:
        read = read_network(path)
    except InputError as error:
        said = str(error)
    if read is None:
        assert str(path) in said
        assert "\n" not in said
        return
    read.network.check()
    read.network.order()
    for x, table in enumerate(read.tables):
        assert table.shape == tuple(len(read.states[v]) for v in (*read.network.parents[x], x))
        assert np.abs(table.sum(axis=-1) - 1).max() <= 0.015


def test_no_file_takes_all_memory(tmp_path, sizes):
    sizes(LARGEST_FILE=len(XMLBIF), MOST_ELEMENTS=XMLBIF.count("</"), LARGEST_TABLES=20)
    assert_is_the_example(reading(tmp_path, XMLBIF))
    with pytest.raises(InputError, match=r"has more than .*: is it the right file"):
        reading(tmp_path, XMLBIF + " ")
    with pytest.raises(InputError, match="the elements are too many for a network"):
        reading(tmp_path, XMLBIF.replace("<!-- of Never -->", "<X/>"))
    (tmp_path / "n.gz").write_bytes(gzip.compress((OF_BNLEARN + " " * len(XMLBIF)).encode()))
    with pytest.raises(InputError, match=r"n\.gz has more than .*: is it the right file"):
        read_network(tmp_path / "n.gz")
    sizes(LARGEST_TABLES=19)
    with pytest.raises(InputError, match="the tables up to that of 'a' have 20 probabilities, more than 19"):
        reading(tmp_path, XMLBIF)


def test_the_names_beside_come_back(tmp_path):
    told = [{"variable": "a", "name": "wet grass"}, {"variable": "b", "state": ">67", "label": "old"}]
    (tmp_path / "n.net.names.json").write_text(json.dumps(told))
    labels = (LABELS[0], ("<=55", "(55,67]", "old"), LABELS[2])
    assert_is_the_example(reading(tmp_path, NET, "n.net"), labels, ("wet grass", "b", "c"))
    for wrong in ("{}", '[{"variable": 1}]', "[", "\x00"):
        (tmp_path / "n.net.names.json").write_text(wrong)
        with pytest.raises(InputError, match=r"n\.net\.names\.json does not tell names as extbnsl does: move it away"):
            read_network(tmp_path / "n.net")
    for told, said in (
        ({"variable": "a", "name": "b"}, "names"),
        ({"variable": "c", "state": "no", "label": "yes"}, "labels"),
    ):
        (tmp_path / "n.net.names.json").write_text(json.dumps([told]))
        with pytest.raises(InputError, match=rf"{said} .* must be distinct"):
            read_network(tmp_path / "n.net")


def test_names_of_files_of_networks():
    assert all(
        map(is_network_file, ("a.bif", "A.BIF.GZ", "x/a.xdsl", "a.net", "a.xml", "a.bifxml", "a.xmlbif", "a.oobn"))
    )
    assert not any(map(is_network_file, ("a.csv", "bif", "a.bif.txt", "-", "a.jkl.gz")))
