"""Stand-ins that answer like servers: the true counts, described noise, and mutants that must be found out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.attacks.knowledge import DP, UNPROTECTED, Answer, Knowledge, plan_of
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import ExactTable
from discreet.model.request import canonical
from discreet.model.shape import table_shape
from discreet.protect.description_keys import DescriptionNoise, add_description_noise
from discreet.protect.margin_choice import choose_margins
from discreet.protect.plan import make_plan
from discreet_studies.attacks.targets import TrueCounts, describe


def public_dataset(population, budget):
    """The description without its protection, which is all that shapes and counts need."""
    return parse_dataset(describe(population, UNPROTECTED, budget))


def described(population, budget):
    """What is public of a population under `dp`."""
    dataset = parse_dataset(describe(population, DP, budget))
    return Knowledge(dataset, DP, plan=plan_of(dataset))


@dataclass
class Described:
    """A `dp` server made of its parts: true counts, and noise by description for the plan's margins."""

    truth: TrueCounts
    plan: object
    secret: object

    def ask(self, request):
        dataset = self.truth.dataset
        shape = table_shape(canonical(request, dataset), dataset)
        counts = self.truth.ask(request).values
        exact = ExactTable(shape, counts, np.zeros(counts.shape, dtype=np.uint64))
        parts = choose_margins(shape, self.plan.universe, dataset, self.plan.variances())
        noise = DescriptionNoise(self.secret, dataset, "1", "records", self.plan.noise())
        noisy = add_description_noise(exact, parts, noise).noisy
        return Answer(tuple(d.codes for d in shape.dimensions), noisy, np.zeros(noisy.shape, dtype=bool))


def with_epsilon(plan, dataset, times):
    """The same universe with noise for an epsilon that is larger than promised."""
    terms = replace(
        plan.terms, epsilon=plan.terms.epsilon * times, cap_epsilon=plan.terms.cap_epsilon * times
    )
    return make_plan(dataset, plan.universe, terms, {"family": "laplace"})
