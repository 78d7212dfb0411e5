"""The oldest releases of libraries that are tested are those which the package asks for."""

import tomllib

import pytest
import yaml
from tooling import TOOLS, tool

oldest = tool("oldest").oldest


def test_each_requirement_has_an_oldest_release():
    found = dict(line.split("==") for line in oldest())
    project = tomllib.loads((TOOLS.parent / "pyproject.toml").read_text())["project"]
    assert len(found) == len(project["dependencies"]) + len(project["optional-dependencies"]["test"])
    assert {"numpy", "numba", "h5py", "pytest"} <= found.keys()


def test_another_form_is_refused(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["numpy>=2,<3"]\noptional-dependencies.test = []\n')
    with pytest.raises(ValueError, match="numpy>=2,<3"):
        oldest(path)


def test_extras_and_the_recipe_ask_for_the_same_releases():
    """pip takes the later one of two; conda knows nothing of pyproject.toml."""
    project = tomllib.loads((TOOLS.parent / "pyproject.toml").read_text())["project"]
    tested = {line.partition("==")[0]: line.partition("==")[2] for line in oldest()}
    for extra in ("networkx", "compress", "plot", "cluster", "parquet", "rds"):
        for requirement in project["optional-dependencies"][extra]:
            name, _, version = requirement.partition(">=")
            assert tested[name] == version, extra
    text = (TOOLS / "conda" / "meta.yaml").read_text()
    recipe = yaml.safe_load("\n".join(line for line in text.splitlines() if "{%" not in line and "{{" not in line))
    asked = {one.partition(">=")[0].strip(): one.partition(">=")[2] for one in recipe["requirements"]["run"]}
    assert asked.pop("python") == project["requires-python"].removeprefix(">=")
    assert asked == {one.partition(">=")[0].lower(): one.partition(">=")[2] for one in project["dependencies"]}
