"""The tables of parents under an order: what they read, and what they print beside the paper's figures."""

import gzip

import numpy as np

from bench import ordered

BIF = """network unknown {
}
variable a {
  type discrete [ 2 ] { x, y };
}
probability ( a ) {
  table 0.5, 0.5;
}
probability ( b | a, c ) {
  (x, x) 0.5, 0.5;
}
probability (c|a) {
  (x) 0.5, 0.5;
}
"""


def test_the_structure_of_a_network_is_read():
    network = ordered.structure(BIF, ("a", "b", "c"))
    assert network.parents == ((), (0, 2), (0,))
    assert network.order() == (0, 2, 1)
    other = ordered.structure("probability ( b | a )", ("a", "b", "c"))
    assert ordered.arcs(other, network) == "0 / 2"
    assert ordered.arcs(network, other) == "2 / 0"


def test_the_tables_have_a_row_for_each_number_of_records(tmp_path, capsys):
    for folder in ("sampled", "networks"):
        (tmp_path / folder).mkdir()
    rng = np.random.default_rng(1)
    a, noise = rng.integers(0, 2, (2, 300))
    rows = "\n".join(f"{x},{x ^ y},{y}" for x, y in zip(a.tolist(), noise.tolist(), strict=True))
    (tmp_path / "sampled" / "alarm_10000.csv.gz").write_bytes(gzip.compress(f"a,b,c\n{rows}\n".encode()))
    (tmp_path / "sampled" / "alarm.arities.txt").write_text("a,b,c\n2,2,2\n")
    (tmp_path / "networks" / "alarm.bif.gz").write_bytes(gzip.compress(BIF.encode()))
    assert ordered.main(["--data", str(tmp_path), "--networks", "alarm", "--records", "250,300"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "alarm: 3 variables, 3 arcs; the order:" in lines
    assert "a c b" in lines
    rows = [line.split() for line in lines]
    assert [row[2] for row in rows if row[:1] in (["250"], ["300"])] == ["17,660", "-"]
    (row,) = [row for row in rows if row[:1] == ["250"]]
    assert row[3:9] == ["0", "/", "1", "2", "/", "15"]  # a and c are independent
    assert sum(row[:1] == ["37"] for row in rows) == 2
    assert next(row for row in rows if row[:1] == ["37"])[2] == "324,472"


def test_a_lost_advantage_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(ordered, "compare", lambda sample, size, *_: 9.0 if size == 500 else 7.9)
    monkeypatch.setattr(ordered, "found", lambda *_: [])
    monkeypatch.setattr(ordered, "order_network", lambda *_, **__: None)
    monkeypatch.setattr(ordered.Sample, "first", lambda *_: None)
    truth = ordered.structure(BIF, ("a", "b", "c"))
    monkeypatch.setattr(ordered, "read_sample", lambda folder, name: ordered.Sample(name, None, truth))
    assert ordered.main(["--data", str(tmp_path), "--networks", "alarm", "--records", "500"]) == 0
    assert ordered.main(["--data", str(tmp_path), "--networks", "alarm", "--records", "500,1000"]) == 1
