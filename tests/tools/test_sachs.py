"""The script that makes data of the published records of Sachs et al. 2005: on a miniature of their table."""

import gzip
import sys
from pathlib import Path

import pytest

import extbnsl

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from make_sachs import FILE, PUBLISHED, main

MINIATURE = '"Raf" "Mek" "Erk" "INT"\n1 2 1 0\n3 1 1 2\n\n2 2 3 3\n1 3 2 0\n'


@pytest.mark.parametrize("packed", [False, True])
def test_a_miniature(tmp_path, packed):
    folder = tmp_path / "source"
    folder.mkdir()
    if packed:
        (folder / f"{FILE}.gz").write_bytes(gzip.compress(MINIATURE.encode()))
    else:
        (folder / FILE).write_text(MINIATURE)
    assert main([str(folder), str(tmp_path / "made")]) == 0
    made = tmp_path / "made" / "sachs.csv"
    assert made.read_text() == "Raf,Mek,Erk,set\n1,2,1,\n3,1,1,Mek\n2,2,3,Erk\n1,3,2,\n"
    data = extbnsl.read_csv(made, targets="set")
    assert [data.targets.sets[k] for k in data.targets.of.tolist()] == [(), (1,), (2,), ()]
    published = (tmp_path / "made" / "published.csv").read_text().splitlines()
    assert (len(published), published[:2]) == (18, ["from,to", "PKC,PKA"])
    assert sum(map(len, PUBLISHED.values())) == 17


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the last one INT, and has ."),
        ('"Raf" "Mek"\n1 2\n', "the last one INT, and has Raf Mek"),
        ('"Raf" "INT"\n1 2\n', "record 1 is 1 2, and should be 2 values, the last one from 0 to 1"),
        ('"Raf" "INT"\n1 0\n1\n', "record 2 is 1, and should be"),
    ],
)
def test_what_is_not_the_table_is_refused(tmp_path, capsys, text, told):
    (tmp_path / FILE).write_text(text)
    assert main([str(tmp_path / FILE), str(tmp_path / "made")]) == 30
    assert told in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    assert main([str(tmp_path / "nothing"), str(tmp_path / "made")]) == 30
    assert main([]) == 30
