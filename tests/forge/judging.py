"""What verify makes of a forgery, and whether that is right."""

import json
import shutil
from pathlib import Path

from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.verify.question import canonical
from forge.originals import verified
from forge.truths import lies

HOLDS, CLAIMED, REFUSED, FALSE = 0, 11, 30, 31


def judged(case):
    """The exit code, and why it is wrong, or None."""
    code, out = verify(case)
    if code not in (HOLDS, CLAIMED, REFUSED, FALSE):
        return code, f"exit code {code}: {out[-200:]}"
    if code in (REFUSED, FALSE):
        return code, None
    claim, _, rest = out.partition("\nrecomputed")
    nothing = "\nnot checked  nothing\n" in rest
    if nothing != (code == HOLDS):
        return code, f"exit code {code}, but: {rest}"
    if unsaid := unstated(case, claim):
        return code, f"{unsaid} is another than in the original, and nobody says so"
    if code == HOLDS and (false := "; ".join(lies(case.document, case.original))):
        return code, f"it is believed, but {false}"
    return code, None


def verify(case):
    """Exit code and output of verify, of a run directory if there are tables."""
    if not case.tables:
        Path("r.json").write_text(json.dumps(case.document))
        return verified("r.json", case.data)
    shutil.rmtree("forged.run", ignore_errors=True)
    Path("forged.run").mkdir()
    Path("forged.run", "result.json").write_text(json.dumps(case.document))
    for name, text in case.tables.items():
        Path("forged.run", name).write_text(text)
    return verified("forged.run", case.data)


def unstated(case, claim):
    """A part of the claim that is another than in the original while its line in the output is the same, if any is."""
    own, before, told, said = (
        parts_of(case.document),
        parts_of(case.original.document),
        lines(claim),
        lines(case.original.claim),
    )
    return next((key for key in own if own[key] != before[key] and told.get(key) == said.get(key)), None)


def lines(claim):
    """What the claim says, by its keys."""
    return dict(line.strip().split(": ", 1) for line in claim.splitlines()[1:])


def parts_of(document):
    """What a document claims, by the keys of the output."""
    provenance, asked = document["provenance"], document["provenance"].get("options") or {}
    known = document.get("knowledge")
    ranked = "count" in document
    return {
        "status": document["status"],
        "score": document["score"],
        "ess": document.get("ess"),
        "max-parents": document["max_parents"],
        "knowledge": canonical(NOTHING if known is None else Knowledge.from_document(known)),
        "data-options": provenance.get("data_options") or {},
        "digest": provenance["data_digest"],
        "lower-bound": None if document["status"] == "optimal" else document["lower_bound"],
        "network": {child: sorted(own) for child, own in document["parents"].items()},
        "order": document["order"] if document.get("order_optimal") else None,
        "resamples": "bootstrap" in document and document["bootstrap"]["resamples"],
        "k": ranked and asked["k"],
        "within-factor": ranked and asked["within_factor"],
        "classes": ranked and asked["classes"],
        "listed": ranked and (document["count"]["listed"], document["count"]["networks"], document["within"]),
        "found-of-all": ranked and document["count"]["of_all"],
    }
