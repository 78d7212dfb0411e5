"""The state of a run of any kind in its manifest: looked at, before any of it is believed. Light: `status` reads it."""

from pathlib import Path

from extbnsl.files.manifest import Manifest, malformed, read_manifest
from extbnsl.proof import document as solve
from extbnsl.solver import approximate_document as approximate
from extbnsl.solver import bootstrap_document as bootstrap
from extbnsl.solver import ranking_document as ranking

APPROXIMATE, K_BEST, BOOTSTRAP = KINDS = "approximate", "kbest", "bootstrap"  # kinds of runs; a solve names none

_WRONG_PLACES = {
    None: solve.wrong_place,
    APPROXIMATE: approximate.wrong_place,
    K_BEST: ranking.wrong_place,
    BOOTSTRAP: bootstrap.wrong_place,
}


def read_state(folder: Path) -> Manifest:
    """The manifest of the run directory `folder`, with a state that a run may have written.

    Raises as `read_manifest` does.
    """
    manifest = read_manifest(folder)
    kind = manifest.state.get("kind")
    if not (kind is None or isinstance(kind, str)) or kind not in _WRONG_PLACES:
        raise malformed(folder, "state.kind")
    place = _WRONG_PLACES[kind](manifest)
    if place is not None:
        raise malformed(folder, f"state.{place}")
    return manifest


def kind_of(manifest: Manifest) -> str | None:
    """The kind of run that a manifest is of; None of a solve."""
    kind = manifest.state.get("kind")
    return kind if kind in KINDS else None
