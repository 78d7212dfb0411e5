"""Where a check has the families of a problem from: counted again by the score of a claim, or as scores list them."""

from extbnsl.data import Data, Numbers
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import FamilySource, families_of_scores
from extbnsl.verify.regression_families import families_by_regressions


def family_source(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers, every: bool = False
) -> FamilySource:
    """The families that are as demanded, by the score of the claim; every: also those that a subset beats, of data.
    Raises Stopped and TooMuch as the modules that do it."""
    if isinstance(problem, LocalScores):
        return families_of_scores(problem, demands)
    if isinstance(problem, Numbers):
        return families_by_regressions(problem, demands, workers, every)
    return families_of_data(problem, claim.score, claim.ess, demands, workers, every)
