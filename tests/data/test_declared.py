"""States that are declared: by files, by mappings, by their names or by their number."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import from_array, from_dataframe
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import extbnsl
from extbnsl.core.errors import InputError
from extbnsl.data.declared import read_states, states_of

TEXT = "stage,pain,x\nII,severe,1\nI,none,3\nII,mild,1\n"
YAML = "stage: [I, II, III, IV]\npain: [none, mild, severe]\nx: 4\n"
STATES = {"stage": ("I", "II", "III", "IV"), "pain": ("none", "mild", "severe"), "x": 4}


def file_of(folder, name, text):
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("states.yaml", YAML),
        ("states.yml", "{stage: [I, II, III, IV], pain: [none, mild, severe], x: 4}"),
        ("states.json", json.dumps(STATES)),
        ("states.json", json.dumps(STATES, indent="\t")),
        ("STATES.JSON", json.dumps(STATES | {"x": "4"})),
    ],
)
def test_a_file_declares_states_in_their_order(tmp_path, name, text):
    assert read_states(file_of(tmp_path, name, text)) == STATES
    data = file_of(tmp_path, "data.csv", TEXT)
    for states in (file_of(tmp_path, name, text), str(tmp_path / name), STATES):
        dataset = extbnsl.read_csv(data, states=states)
        check_dataset(dataset)
        assert dataset.states == (STATES["stage"], STATES["pain"], ("0", "1", "2", "3"))
        assert dataset.codes.tolist() == [[1, 2, 1], [0, 0, 3], [1, 1, 1]]
    assert extbnsl.read_csv(data, arities=tmp_path / name).fingerprint == dataset.fingerprint


def test_yaml_is_read_as_it_is_written(tmp_path):
    path = file_of(tmp_path, "s.yaml", "pain: [no, yes, 1.0, 0x10, 2020-01-01, ~]\n'10': [on, off]\n")
    assert read_states(path) == {"pain": ("no", "yes", "1.0", "0x10", "2020-01-01", "~"), "10": ("on", "off")}


@pytest.mark.parametrize("text", ["a,b c\n3,2\n", "\n a , b c \n\n 3,2\n", "a\tb c\n3\t2\n", 'a;"b c"\r\n3;2\r\n'])
def test_two_lines_declare_numbers_of_states(tmp_path, text):
    assert read_states(file_of(tmp_path, "arities.txt", text)) == {"a": 3, "b c": 2}


def test_two_lines_with_blanks_between_the_names(tmp_path):
    assert read_states(file_of(tmp_path, "arities.dat", "a b\n3 2\n")) == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "s.yaml",
            "- a\n- b\n",
            "s.yaml declares no states: give a mapping of columns to lists, or numbers, of states",
        ),
        ("s.yaml", "", "declares no states"),
        ("s.yaml", "a: []", "declares no states for 'a'"),
        ("s.yaml", "a: [x, x]", "declares the state 'x' twice for 'a': name each state once"),
        ("s.yaml", "a: [[x], y]", r"declares \['x'\] as a state of 'a': give a text or a number"),
        ("s.yaml", "a: many", "the arity 'many' of 'a' is no whole number from 1 to 65535: correct it, or list"),
        ("s.yaml", "a: 0", "the arity '0' of 'a'"),
        ("s.yaml", "a: {x: y}", "the arity "),
        ("s.yaml", "a: [x\n", "s.yaml:"),
        ("s.yaml", "a: [x]\na: [y]\n", "It is there already"),
        ("s.yaml", "'a b': [x]\n'a  b': [y]\n", "declares the states of a column twice"),
        ("s.json", "{", "s.json:"),
        ("s.txt", "stage: [I, II]\n", "1 line where two are expected, .* its name ends in .yaml, .yml, .json"),
        ("s.csv", "a,b\n2\n", "2 names but 1 arity: give one for each name"),
    ],
)
def test_what_declares_no_states_is_refused(tmp_path, name, text, sentence):
    with pytest.raises(InputError, match=sentence):
        extbnsl.read_csv(file_of(tmp_path, "data.csv", "a,b\nx,1\n"), states=file_of(tmp_path, name, text))


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({"stage": ["I", "III"]}, "'stage' has 'II' in row 1 of the data, which is none of its declared states"),
        ({"x": [1, 2]}, r"column 'x' has '3' in row 2 of the data, which is none of its declared states \(1, 2\)"),
        ({"y": 2}, "--states: .* has no column 'y'; its columns are 'stage', 'pain' and 'x'"),
        (
            {"pain": 2},
            r"'pain' has 3 states \(mild, none, severe\), and 2 are declared by their number: declare at least",
        ),
        ({"pain": 4}, "which does not tell the others unless they are 0 to 3 or 1 to 4: declare all by their names"),
        ({"x": [True, None]}, "declares None as a state of 'x'"),
        (3, "states declares no states"),
    ],
)
def test_states_that_do_not_fit_are_refused(states, sentence):
    frame = pd.DataFrame({"stage": ["II", "I", "II"], "pain": ["severe", "none", "mild"], "x": [1, 3, 1]})
    with pytest.raises(InputError, match=sentence) as caught:
        from_dataframe(frame, states=states)
    if "row" in sentence:
        assert caught.value.row in (1, 2)
        assert caught.value.value in ("II", "3")


@pytest.mark.parametrize(
    ("values", "arity", "states"),
    [
        ([0, 2], 4, ("0", "1", "2", "3")),
        ([1, 4], 4, ("1", "2", "3", "4")),
        ([1, 3], 4, ("0", "1", "2", "3")),  # as both would do, from 0
        ([4, 8], 2, ("4", "8")),
        (["b", "a"], 2, ("a", "b")),
        ([1.0, 2.0], 2, ("1", "2")),
        ([None, 1], 2, ("0", "1", "missing")),
        ([None, None], 2, ()),
    ],
)
def test_a_number_of_states_says_which_they_are(values, arity, states):
    frame = {"a": values, "b": ["u", "v"]}
    if not states:
        with pytest.raises(InputError, match="column 'a' has no state, and 2 are declared by their number"):
            from_dataframe(frame, states={"a": arity}, missing="state")
    else:
        assert from_dataframe(frame, states={"a": arity}, missing="state").states[0] == states


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "NA", "?", "1", "1.0"]), min_size=1, max_size=8), st.randoms())
def test_declared_states_are_the_states(values, random):
    states = sorted(set(values) | {"never"})
    random.shuffle(states)
    data = from_dataframe({"x": values, "y": ["u"] * len(values)}, states={"x": states})
    check_dataset(data)
    assert data.states[0] == tuple(states)
    assert [states[code] for code in data.codes[:, 0]] == values  # a state that is declared is no missing value


def test_declared_states_count_in_the_score():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 60), "b": rng.choice(["u", "v"], 60)})
    levels = ["x", "y", "z"]
    declared = extbnsl.learn(frame, score="bdeu", ess=10, states={"a": levels}, threads=1)
    category = frame.assign(a=pd.Categorical(frame["a"], categories=levels))
    assert declared.cost == extbnsl.learn(category, score="bdeu", ess=10, threads=1).cost
    assert declared.cost != extbnsl.learn(frame, score="bdeu", ess=10, threads=1).cost


def test_declared_states_are_left_as_they_are():
    frame = pd.DataFrame({"a": range(70), "b": range(70), "c": pd.Categorical(["q"] * 70, categories=["q", "p"])})
    data = from_dataframe(frame, states={"a": range(100), "c": ["p", "q", "r"]}, discretise="mean", drop="b")
    assert data.arities.tolist() == [100, 3]
    assert data.codes[:, 1].tolist() == [1] * 70
    with pytest.raises(InputError, match="states makes states of columns, and the score gaussian-bic takes numbers"):
        extbnsl.learn(frame[["a", "b"]], score="gaussian-bic", states={"a": 100}, threads=1)


def test_rows_are_told_as_they_stand_in_the_data():
    frame = {"a": ["x", None, "z"], "w": [2, 1, 1], "b": [0, 1, 0]}
    with pytest.raises(InputError, match="'a' has 'z' in row 3 of the data"):
        from_dataframe(frame, states={"a": ["x", "y"]}, missing="drop", weights="w")
    assert from_dataframe(frame, states={"a": ["x", "y"]}, records=1, weights="w").records == 2


def test_states_of_columns_that_are_left_out_do_no_harm():
    data = from_array([["x", "u"], ["y", "v"]], ["a", "b"], states={"a": ["q"], "b": ["v", "u"]}, drop="a")
    assert data.states == (("v", "u"),)


def test_a_mapping_may_hold_numbers_and_arrays():
    assert states_of({"a": np.array([2, 1]), 7: range(2), "c": [1.0, 2.5]}, "states") == {
        "a": ("2", "1"),
        "7": ("0", "1"),
        "c": ("1", "2.5"),
    }
