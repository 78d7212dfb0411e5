"""What tests change in the package: each constant of the table is there, and some test changes it."""

import ast
import inspect
from pathlib import Path

import pytest
from patching import HOMES, modules, sized

from extbnsl.proof import guide
from extbnsl.verify import data_families, regression_families

TESTS = Path(__file__).parent


def tree_of(module):
    return ast.parse(inspect.getsource(module))


def constants_of(module):
    """The names that a module gives a value at its top."""
    assigned = [one for one in tree_of(module).body if isinstance(one, (ast.Assign, ast.AnnAssign))]
    targets = [target for one in assigned for target in (one.targets if isinstance(one, ast.Assign) else [one.target])]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def named_in_tests():
    """The texts in tests and the arguments that they name, without those of the table itself."""
    statements = [one for path in TESTS.rglob("*.py") for one in ast.parse(path.read_text()).body]
    nodes = [node for one in statements if not is_table(one) for node in ast.walk(one)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {node.arg for node in nodes if isinstance(node, ast.keyword)}


def is_table(statement):
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "HOMES"


def test_each_constant_of_the_table_is_at_home_where_it_says():
    """Under its own name where nobody else has it, or else under that of its module and its own."""
    owners = {module.__name__.removeprefix("extbnsl."): constants_of(module) for module in modules()}
    for called, home in HOMES.items():
        name = called.rpartition(".")[2]
        assert name in owners[home], called
        alone = sum(name in constants for constants in owners.values()) == 1
        assert called == (name if alone else f"{home.rpartition('.')[2]}.{name}")


@pytest.mark.slow
def test_some_test_changes_each_constant_of_the_table():
    assert sorted(set(HOMES) - named_in_tests()) == []


def test_a_constant_that_is_not_in_the_table_is_refused():
    with pytest.raises(KeyError, match="NOBODYS"), sized(NOBODYS=1):
        pass


def test_a_constant_has_its_other_value_wherever_it_was_taken_to_and_nowhere_else():
    """Four modules have a ROOM of 4096: only one of them is meant."""
    before = guide.BESIDE_CLUSTERS, data_families.ROOM, regression_families.ROOM
    assert before[1] == before[2] == 4096
    with sized({"BESIDE_CLUSTERS": 3, "data_families.ROOM": 1}):
        assert (guide.BESIDE_CLUSTERS, data_families.ROOM, regression_families.ROOM) == (3, 1, 4096)
    assert before == (guide.BESIDE_CLUSTERS, data_families.ROOM, regression_families.ROOM)
