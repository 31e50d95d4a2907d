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


@dataclass
class KeyedByParticipants:
    """The mutant of section 2.2: the noise of the plan, but looked up by who is in the cell."""

    truth: TrueCounts
    plan: object
    seed: int = 7

    def ask(self, request):
        table = self.plan.tables[0].noise
        answer = self.truth.ask(request)
        keys = self._mixed(self._key_sums(request))
        noisy = answer.values + table.noise(np.zeros(keys.shape, dtype=np.int64), keys)
        return Answer(answer.codes, noisy, answer.missing)

    def _key_sums(self, request):
        population = self.truth.population
        keys = np.random.default_rng(self.seed).integers(2**40, size=population.people)
        total = np.zeros_like(self.truth.ask(request).values)
        for bit in range(40):
            here = (keys >> bit) & 1 == 1
            some = replace(
                population, records={name: codes[here] for name, codes in population.records.items()}
            )
            total += TrueCounts(self.truth.dataset, some).ask(request).values << bit
        return total

    @staticmethod
    def _mixed(sums):
        x = sums.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
