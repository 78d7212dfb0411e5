"""Print the oldest releases that pyproject.toml allows, of the libraries and of those for the tests: constraints for
pip, by which `.ci/run` makes an environment of them.

    python tools/oldest.py > oldest.txt && pip install -c oldest.txt '.[test]'
"""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRA = "test"


def oldest(path: Path = PROJECT) -> list[str]:
    """`name==version` for each requirement `name>=version` of a pyproject.toml; ValueError if one has another form."""
    project = tomllib.loads(path.read_text())["project"]
    found = []
    for requirement in [*project["dependencies"], *project["optional-dependencies"][EXTRA]]:
        name, least, version = requirement.partition(">=")
        if not least or not version.replace(".", "").isdigit():
            raise ValueError(f"{path}: {requirement!r} does not say its oldest release as name>=version")
        found.append(f"{name}=={version}")
    return found


if __name__ == "__main__":
    print("\n".join(oldest()))
