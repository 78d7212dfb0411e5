"""A campaign whose runs are done by jobs of a real SLURM. Skipped where it is not installed."""

import subprocess

import pretended
import pytest

pytest.importorskip("dask_jobqueue")


@pytest.mark.slow
def test_jobs_do_each_run_once(site, here, template):
    once = "open(folder + '.job', 'a').write(os.environ['SLURM_JOB_ID'] + '\\n'); time.sleep(2); done()"
    file = pretended.write_yaml(here, {f"{name}.py": once for name in "abcdef"})
    ended = subprocess.run(
        pretended.command(template, file, "--cluster", "slurm:2"), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended
    assert "6 runs" in ended.stdout
    jobs = [path.read_text().split() for path in (here / "c.campaign" / "runs").glob("*.job")]
    assert [len(job) for job in jobs] == [1] * 6
    assert len({number for (number,) in jobs}) == 2
    assert site("squeue", "--noheader", "--states=PENDING,RUNNING") == ""
