"""The noise that an attack met, as data: family and parameters, or what is promised under `dp`.

Comes from: `Knowledge`. Goes to: the JSON of a study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.attacks.knowledge import DP, UNPROTECTED
from discreet.protect.tightest import claim_of, figures

if TYPE_CHECKING:
    from discreet.attacks.knowledge import Knowledge


def noise_in_words(knowledge: Knowledge) -> dict[str, Any]:
    """What is public about the noise of a protection."""
    if knowledge.protection == UNPROTECTED:
        return {"noise": None}
    if knowledge.protection != DP:
        noise = knowledge.law
        return {
            "noise": {
                "family": noise.family,
                "parameters": {key: value for key, value in noise.parameters.items() if value is not None},
                "variance": float(noise.rows[-1].variance()),
            }
        }
    plan = knowledge.declared
    return {
        "noise": {
            "family": plan.tables[0].noise.family,
            "tables": [list(table.margin) for table in plan.tables],
            "variance": float(plan.tables[-1].noise.rows[0].variance()),
        },
        "claim": {
            "epsilon": float(plan.terms.epsilon),
            "delta": float(plan.terms.delta),
            "neighbours": plan.terms.neighbours,
            "sentence": claim_of(plan, "basic", figures(plan)["basic"]).sentence,
        },
    }
