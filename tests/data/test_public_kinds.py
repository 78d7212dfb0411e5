"""Files as the public has them, one for each kind that was found there: they are read, told of, or refused with the
cause and what to do, and never silently counted wrong."""

import random
import re

import pytest
from data_invariants import check_dataset

import extbnsl
from extbnsl.core.errors import InputError

N = 120
DRAW = random.Random(1)
A = [DRAW.randrange(2) for _ in range(N)]
B = [a if DRAW.random() < 0.8 else 1 - a for a in A]
C = [b if DRAW.random() < 0.8 else 1 - b for b in B]


def table(names, columns, delimiter=",", end="\n"):
    rows = ([names] if names else []) + [list(map(str, row)) for row in zip(*columns, strict=True)]
    return "".join(delimiter.join(row) + end for row in rows)


def reals(mean, digits=2):
    return [f"{DRAW.gauss(mean, 1):.{digits}f}" for _ in range(N)]


def words(codes, *states):
    return [states[code] for code in codes]


PAIR = table(["a", "b"], [A, B])
THREE = table(["a", "b", "c"], [A, B, C])
QUALTRICS = (
    'Q1,Q2,Q3\n"Do you smoke?","Do you drink?","How are you?"\n'
    '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n'
) + table([], [words(A, "Yes", "No"), words(B, "Yes", "No"), words(C, "Good", "Bad")])
WEKA = (
    "% made\n@RELATION 'my data'\n\n@ATTRIBUTE 'the age' NUMERIC\n@attribute\tsex\t{ 'm', 'f' }  % coded\n"
    "@ATTRIBUTE class{yes,no}\n@DATA\n"
) + "".join(f"{20 + a}, '{'mf'[b]}',{('yes', 'no')[c]}\n" for a, b, c in zip(A, B, C, strict=True))
SPARSE = "@relation s\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute c numeric\n@data\n" + "".join(
    "{" + ", ".join(f"{j} 1" for j, own in enumerate((a, b, c)) if own) + "}\n" for a, b, c in zip(A, B, C, strict=True)
)
LIKERT = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
EUROS = [f'"€ {DRAW.randrange(1, 9)}.{DRAW.randrange(100, 999)},{DRAW.randrange(10, 99)}"' for _ in A]
DOSES = ["< LOD" if DRAW.random() < 0.2 else f"{DRAW.gauss(5, 1):.2f} ug/l" for _ in A]
ARITIES = table(["a", "b", "c"], [A, B, [c * 3 % 4 for c in C]], " ").replace("\n", "\n2 2 2\n", 1)
TOTALS = table(["", "a", "b"], [range(N), A, B]) + "Total,66,64\n"
MARKDOWN = "| a | b |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in zip(A, B, strict=True))
TRUTH = table(["a", "b"], [["True", *words(A[1:], "TRUE", "FALSE")], B])
FORMS = table(["v", "b"], [words(A, "Orle\u0301ans", "Orl\u00e9ans"), B])
TIMES = [f"2024-01-{1 + i // 24:02d}T{i % 24:02d}:00:00Z" for i in range(N)]
GERMAN = [text.replace(".", ",") for text in reals(9)]

READ = {  # name, text, variables, records, and what its warnings say
    "survey with two rows of questions": ("q.csv", QUALTRICS, 3, N + 2, "Rows 1 to 2 of the data .*--skip-lines 2-3"),
    "a row of types": ("t.csv", THREE.replace("\n", "\nD,D,D\n", 1), 3, N + 1, "Row 1 of the data .*--skip-lines 2-2"),
    "a row of arities": ("n.dat", ARITIES, 3, N, "number of states of each column"),
    "totals": ("f.csv", TOTALS, 2, N + 1, "The last row"),
    "points of SAS": ("s.csv", table(["a", "b"], [[".", *A[1:]], B]), 2, N, "The value '.' of column 'a'.*--na '.'"),
    "codes of a survey": ("c.csv", table(["q", "b"], [[1, 2, 3, 98, 99, 5] * (N // 6), B]), 2, N, "'98' and '99'"),
    "row numbers of R": ("r.txt", "    a b\n" + table([], [range(1, N + 1), A, B], " "), 2, N, "numbers the records"),
    "ARFF of Weka": ("w.arff", WEKA, 3, N, ""),
    "sparse ARFF": ("s.arff", SPARSE, 3, N, ""),
    "a delimiter at each end": ("d.csv", THREE.replace("\n", ",\n"), 3, N, ""),
    "lines of two hashes": ("v.tsv", "##made\n##by\n#a\tb\tc\n" + table([], [A, B, C], "\t"), 3, N, ""),
    "a table of Markdown": ("m.md", MARKDOWN, 2, N + 1, "Row 1 of the data"),
    "percentages": ("p.csv", table(["p", "b"], [[f"{DRAW.randrange(9)}%" for _ in A], B]), 2, N, ""),
    "a Likert scale": ("l.csv", table(["q", "b"], [[LIKERT[DRAW.randrange(5)] for _ in A], B]), 2, N, ""),
    "truth in two spellings": ("b.csv", TRUTH, 2, N, "letter case"),
    "two forms of Unicode": ("u.csv", FORMS, 2, N, "constant"),
    "Excel's first line": ("x.csv", "sep=;\r\n" + table(["a", "b"], [A, B], ";", "\r\n"), 2, N, ""),
    "names with commas": ("k.csv", table(['"age, years"', "b"], [A, B]), 2, N, ""),
    "the names once more": ("j.csv", PAIR + PAIR, 2, 2 * N, "the names of the columns once more"),
    "copies of a column": ("e.csv", table(["a", "b", "a_copy"], [A, B, A]), 3, N, "divide the records alike"),
}
REFUSED = {  # name, text, and the sentence
    "prices in euros": ("e.csv", table(["price", "b"], [EUROS, B]), "--decimal ','.*--unit '€'"),
    "units and no detection": ("u.csv", table(["pb", "b"], [DOSES, B]), r"--unit 'ug/l'.*--na '< LOD'"),
    "times and numbers": ("t.csv", table(["at", "x"], [TIMES, reals(20)]), "'at' .*dates or times.*--drop 'at'"),
    "numbers without names": ("m.csv", table([], [reals(0, 5), reals(0, 5)]), "--score gaussian-bic"),
    "numbers of Excel in German": ("g.csv", table(["g", "x"], [A, GERMAN], ";"), "'x' .*continuous.*--discretise mean"),
    "two columns of one name": ("d.csv", table(["a", "a"], [A, B]), "the name 'a' occurs more than once"),
    "JSON": ("r.json", '[{"a": 1, "b": 0}, {"a": 0, "b": 1}]', "is JSON.*read_json"),
    "a page": ("p.csv", "<!DOCTYPE html>\n<html><body>not found</body></html>\n", "is XML or HTML"),
    "a pointer": ("l.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n", "pointer of Git LFS"),
    "Latin text": ("k.csv", table(["a", "b"], [words(A, "Köln", "Ulm"), B]).encode("latin1"), "not UTF-8 text.*iconv"),
    "UTF-16": ("w.csv", PAIR.encode("utf-16"), "is UTF-16 text.*iconv"),
    "a title": ("t.csv", "Table 1: patients of 2024\n\n" + PAIR, "--skip-lines 1"),
}


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("kind", READ)
def test_what_can_be_read_is_read_and_told_of(tmp_path, kind):
    name, text, variables, records, told = READ[kind]
    data = extbnsl.read_data(written(tmp_path / name, text))
    check_dataset(data)
    assert (data.variables, data.records) == (variables, records)
    if told:
        assert re.search(told, " ".join(data.warnings))
    else:
        assert not [warning for warning in data.warnings if "taken as" in warning]


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_cause(tmp_path, kind):
    name, text, told = REFUSED[kind]
    with pytest.raises(InputError, match=told):
        extbnsl.read_data(written(tmp_path / name, text))
