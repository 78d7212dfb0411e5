"""The folder of a campaign: whose it is, and who may write there."""

import json
import os
import subprocess

import pretended
import pytest

GOOD = {"a.py": "done()"}


def refused(answer, code=30):
    """The one sentence of a campaign that was refused."""
    assert answer[:2] == (code, "")
    assert answer[2].count("\n") == 1
    return answer[2]


def test_it_lies_beside_the_caller_and_has_the_name_of_the_file(pretend, here):
    file = pretended.write_yaml(here, GOOD)
    assert pretend(file)[0] == 0
    names = {"campaign.json", "campaign.yaml", "lock", "runs", "results.csv", "tables", "index.html", "plots"}
    assert set(os.listdir("c.campaign")) == names
    assert (here / "c.campaign/campaign.yaml").read_bytes() == file.read_bytes()


def test_a_folder_of_somebody_else_is_refused(pretend, here):
    file = pretended.write_yaml(here, GOOD)
    (here / "mine").mkdir()
    (here / "mine/letter.txt").write_text("Dear")
    for more in ([], ["--resume"]):
        assert "mine is not empty and holds no campaign" in refused(pretend(file, "--output-dir", "mine", *more))
    assert os.listdir("mine") == ["letter.txt"]
    assert "is a file" in refused(pretend(file, "--output-dir", "a.py"))
    assert "no folder 'nowhere'" not in refused(pretend(file, "--output-dir", "a.py/c"))


def test_an_empty_folder_is_taken(pretend, here):
    (here / "mine").mkdir()
    assert pretend(pretended.write_yaml(here, GOOD), "--output-dir", "mine")[0] == 0


def test_a_campaign_that_is_there_needs_resume(pretend, here):
    file = pretended.write_yaml(here, GOOD)
    assert pretend(file)[0] == 0
    assert "c.campaign holds a campaign; give --resume" in refused(pretend(file))
    (here / "a.py").write_text("sys.exit(3)")  # nobody runs it again
    assert pretend(file, "--resume")[0] == 0


@pytest.mark.parametrize("left", [[], ["lock"], ["runs"], ["lock", "runs", ".campaign.json.77.tmp"]])
def test_one_that_was_killed_at_its_very_beginning_goes_on(left, pretend, here):
    file = pretended.write_yaml(here, GOOD)
    (here / "c.campaign").mkdir()
    for name in left:
        path = here / "c.campaign" / name
        path.mkdir() if name == "runs" else path.touch()
    assert pretend(file, "--resume")[0] == 0


@pytest.mark.parametrize("mark", ["", "{}", "[", '{"kind": "letter"}', '{"kind": "campaign", "format_version": 99}'])
def test_a_damaged_or_other_mark_is_refused(mark, pretend, here):
    file = pretended.write_yaml(here, GOOD)
    assert pretend(file)[0] == 0
    (here / "c.campaign/campaign.json").write_text(mark)
    refused(pretend(file, "--resume"), 31)


def test_another_file_keeps_what_both_have_and_says_so(pretend, here):
    count = "open('count', 'a').write(arguments[1]); done()"
    pretend(pretended.write_yaml(here, {"a.py": count, "b.py": count}))
    file = pretended.write_yaml(here, {"b.py": count, "c.py": count})
    code, out, err = pretend(file, "--resume")
    assert code == 0
    assert (here / "count").read_text() == "a.pyb.pyc.py"
    assert "c.campaign/campaign.yaml was another file" in err
    assert "2 runs;" in out
    assert len(list((here / "c.campaign/runs").glob("*.run"))) == 3
    assert "another file" not in pretend(file, "--resume")[2]


@pytest.mark.slow
def test_the_second_of_two_at_a_time_is_refused(pretend, here, template):
    file = pretended.write_yaml(here, {"a.py": "Path('began').touch(); time.sleep(1000)"})
    with subprocess.Popen(pretended.command(template, file), stderr=subprocess.DEVNULL) as first:
        pretended.wait_for((here / "began").exists)
        for more in (["--resume"], ["--report"]):
            sentence = refused(pretend(file, *more), 31)
            assert f"in use by another process (id {first.pid})" in sentence
        first.terminate()
        assert first.wait() == 10


def test_a_report_needs_a_campaign_and_runs_nothing(pretend, here):
    file = pretended.write_yaml(here, GOOD)
    assert "holds no campaign" in refused(pretend(file, "--report"))
    assert not (here / "c.campaign").exists()
    pretend(file)
    (here / "c.campaign/index.html").unlink()
    code, out, _ = pretend(pretended.write_yaml(here, {"a.py": "", "b.py": "Path('began').touch()"}), "--report")
    assert code == 0
    assert "2 runs, 1 not over" in out
    assert (here / "c.campaign/index.html").exists()
    assert not (here / "began").exists()


@pytest.mark.parametrize("more", [["--retry"], ["--resume", "--retry", "--report"]])
def test_retry_is_for_resume_alone(more, pretend, here):
    assert "--retry is for --resume" in refused(pretend(pretended.write_yaml(here, GOOD), *more))


@pytest.mark.parametrize("more", ["--jobs=0", "--jobs=x", "--cluster=local:0", "--cluster=local:x"])
def test_wrong_options_are_refused_before_anything_is_written(more, pretend, here):
    file = pretended.write_yaml(here, GOOD)
    before = sorted(os.listdir())
    assert more.partition("=")[0] in refused(pretend(file, more))
    assert sorted(os.listdir()) == before


def test_records_of_other_command_lines_and_damaged_ones_do_not_count(pretend, here):
    count = "open('count', 'a').write('x'); done()"
    file = pretended.write_yaml(here, {"a.py": count})
    pretend(file)
    (record,) = (here / "c.campaign/runs").glob("*.json")
    sound = json.loads(record.read_text())
    for wrong in ("", "[]", json.dumps(sound | {"state": "splendid"}), json.dumps(sound | {"arguments": ["solve"]})):
        record.write_text(wrong)
        assert pretend(file, "--resume")[0] == 0
        assert json.loads(record.read_text())["state"] == "ended"
    assert (here / "count").read_text() == "x"  # its result is there
