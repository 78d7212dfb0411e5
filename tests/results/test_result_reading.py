"""Reading result.json back: the head alone, the networks one by one, and files that are torn or laid out anew."""

import json
import re

import pytest
from fakes import HOSTILE, document_of, fake_networks, fake_result
from runs import stopped

from extbnsl.cli import main
from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.atomic import write_atomically
from extbnsl.results import reading
from extbnsl.results.ranked import read_ranked
from extbnsl.results.reading import read_networks, read_result, read_text

MARK = b'\n "networks": [\n'


@pytest.fixture(params=[("a", "b", "c"), HOSTILE], ids=["plain", "hostile"])
def written(request, tmp_path):
    """A run directory with the result of 9 networks, and what is in it."""
    networks = fake_networks(9, request.param)
    result = fake_result(networks)
    path = stopped(tmp_path / "r")
    for name, content in result.files(result.document()):
        write_atomically(path / name, content)
    head = json.loads(json_text(result.document()))
    return path, head, [json.loads(json_text(document_of(one))) for one in networks]


def changed(path, change):
    """Change the bytes of result.json."""
    file = path / "result.json"
    file.write_bytes(change(file.read_bytes()))


def test_the_head_and_the_networks_come_back(written):
    path, head, networks = written
    for place in (path, path / "result.json"):
        assert read_result(place) == head
        assert list(read_networks(place)) == networks
    assert json.loads("".join(read_text(path))) == head | {"networks": networks}


LAYOUTS = {
    "one line": lambda text: json.dumps(json.loads(text)),
    "ASCII, one blank": lambda text: json.dumps(json.loads(text), indent=1),
    "four blanks": lambda text: json.dumps(json.loads(text), indent=4),
    "keys in order": lambda text: json.dumps(json.loads(text), indent=1, sort_keys=True),
    "no blanks": lambda text: json.dumps(json.loads(text), separators=(",", ":")),
    "other line ends": lambda text: text.decode().replace("\n", "\r\n"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_layouts_are_read_in_full(written, layout):
    path, head, networks = written
    changed(path, lambda text: LAYOUTS[layout](text).encode())
    assert read_result(path) == head
    assert list(read_networks(path)) == networks


@pytest.mark.parametrize("rest", [b"", b"\xff\xfe", b"[" * 50, b'{"cost": 1', b"}\n", b"null\n"])
def test_what_is_behind_the_head_is_not_looked_at(written, rest, capsys):
    path, head, _ = written
    changed(path, lambda text: text[: text.index(MARK) + len(MARK)] + rest)
    assert read_result(path) == head
    assert main(["status", str(path)]) == 0
    assert "note" not in capsys.readouterr().out
    with pytest.raises(RunDirectoryError, match=r"result\.json: network 1 is (missing or )?damaged"):
        list(read_networks(path))


def test_of_the_networks_only_the_first_line_is_read(written, monkeypatch):
    path, head, _ = written
    size = (path / "result.json").stat().st_size
    read = []
    line_of = reading._Source.line

    def line(source, before=0):
        read.append(line_of(source, before))
        return read[-1]

    monkeypatch.setattr(reading._Source, "line", line)
    assert read_result(path) == head
    assert sum(map(len, read)) < size - 7 * min(map(len, read[-1:]))
    assert b'"rank"' in read[-1]


@pytest.mark.parametrize("at", [1, 4, 9])
@pytest.mark.parametrize(
    "damage",
    [
        lambda line: b"",
        lambda line: line[: len(line) // 2] + b"\n",
        lambda line: line.replace(b'"rank": ', b'"rank": -'),
        lambda line: line.replace(b'"cost": ', b'"cost": "'),
        lambda line: line.replace(b'"cost"', b'"price"'),
        lambda line: line.replace(b'"parents": {', b'"parents": {"x": [1], '),
        lambda line: b"  null,\n",
        lambda line: b"  " + b"[" * 100_000 + b"\n",
        lambda line: line.replace(b'"share": ', b'"share": Infinity, "p": '),
    ],
)
def test_damage_names_the_network(written, at, damage):
    path, _, networks = written
    lines = (path / "result.json").read_bytes().splitlines(keepends=True)
    first = lines.index(MARK[1:]) + 1
    torn = damage(lines[first + at - 1])
    rest = lines[first + at :] if torn else []
    (path / "result.json").write_bytes(b"".join([*lines[: first + at - 1], torn, *rest]))
    found = read_networks(path)
    for network in networks[: at - 1]:
        assert next(found) == network
    with pytest.raises(RunDirectoryError, match=rf"^{re.escape(str(path))}/result\.json: network {at} is ") as raised:
        next(found)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_list_without_its_end_is_damaged(written, cut):
    path, _, networks = written
    changed(path, lambda text: text[:-cut])
    if cut == 1:
        assert list(read_networks(path)) == networks
        return
    with pytest.raises(RunDirectoryError, match="network 10 is missing or damaged"):
        list(read_networks(path))


def test_damage_in_another_layout_names_the_network(written):
    path, _, networks = written
    document = json.loads((path / "result.json").read_text())
    document["networks"][3]["rank"] = 0
    (path / "result.json").write_text(json.dumps(document))
    found = read_networks(path)
    assert [next(found) for _ in range(3)] == networks[:3]
    with pytest.raises(RunDirectoryError, match=r"network 4 is damaged: rank is not"):
        next(found)


def test_a_torn_head_is_told(written, capsys):
    path, *_ = written
    changed(path, lambda text: text[: text.index(MARK) // 2])
    with pytest.raises(RunDirectoryError, match=r"result\.json is not JSON .* damaged or no result of a solve\.$"):
        read_result(path)
    assert main(["status", str(path)]) == 0
    assert "note" in capsys.readouterr().out


def test_a_result_of_one_network_has_no_list(tmp_path):
    for text in ('{"cost": 1}', '{"networks": 3}', '{"networks": null}'):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(InputError, match="has no list of networks; give the result of a search for the k best"):
            list(read_networks(tmp_path))


@pytest.mark.parametrize("text", ["[1]", "3", '{\n "networks": [\n'])
def test_what_is_no_object_is_told(tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(RunDirectoryError, match="damaged or no result"):
        read_result(tmp_path)


def test_what_is_too_large_for_a_run_directory_is_refused_but_not_a_long_list(written, sizes):
    path, head, networks = written
    size = (path / "result.json").stat().st_size
    longest = max(map(len, (path / "result.json").read_bytes().splitlines()))
    head_size = (path / "result.json").read_bytes().index(MARK) + len(MARK)
    sizes({"reading.MOST_BYTES": size - 1, "MOST_OF_PART": max(head_size, longest + 1)})
    assert read_result(path) == head
    assert list(read_networks(path)) == networks
    sizes(MOST_OF_PART=head_size - 1)
    with pytest.raises(RunDirectoryError, match=f"has {size} bytes, more than any run writes there"):
        read_result(path)
    assert read_result(path / "result.json") == head


def test_networks_over_other_variables_are_told(written):
    path, head, _ = written
    with pytest.raises(RunDirectoryError, match="network 1 is damaged: it is not over the variables of the result"):
        read_ranked(path, [*head["variables"], "more"])


@pytest.mark.parametrize("version", [2, 3])
def test_lists_of_earlier_versions_are_refused_in_one_sentence(written, capsys, version):
    path, head, networks = written
    others = {2: {"arc_probabilities": head["arc_shares"]}, 3: {"count": head["count"] | {"of_all": 0.5}}}
    before = head | {"networks": networks, "format_version": version} | others[version]
    (path / "result.json").write_text(json.dumps(before))
    for command in (["report"], ["verify", "nothing.csv"]):
        assert main([command[0], str(path), *command[1:]]) == 30
        (said,) = capsys.readouterr().err.splitlines()
        assert said.endswith("has a list of an earlier version, with other probabilities: run kbest again.")
