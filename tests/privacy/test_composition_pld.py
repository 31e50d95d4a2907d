"""The library's loss distributions, our closed forms and the exact audit agree."""

import math

import pytest

from discreet.errors import BadRequest, MissingExtra
from discreet.noise import laplace
from discreet.noise.families import build
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.composition_pld import ALLOWANCE, LossDistribution
from discreet.privacy.gaussian import composed_mu, gaussian_delta_above


def p_end(epsilon, m):
    """Rinott's p(m): e^(-eps m) / C_m."""
    return math.exp(-epsilon * m) / sum(math.exp(-epsilon * abs(z)) for z in range(-m, m + 1))


class TestLossDistribution:
    """The library and our closed forms agree; its grid rounds the loss up, so it is asked a hair above.

    It belongs to the extra `test`, so nothing here is skipped.
    """

    @pytest.mark.parametrize(("epsilon", "m", "d"), [(1.0, 10, 1), (0.25, 12, 4), (0.1, 30, 10)])
    def test_truncated_laplace_has_the_closed_form(self, epsilon, m, d):
        """All losses are +-epsilon or infinite: at the sum of epsilons delta is 1 - (1 - p(m))^d."""
        losses = LossDistribution({laplace(epsilon=epsilon, m=m, modulus=2**64): d})
        closed = 1 - (1 - p_end(epsilon, m)) ** d
        hair = d * 1e-4 + 1e-6
        assert losses.delta(d * epsilon + hair) == pytest.approx(closed, rel=1e-3)
        assert losses.delta(d * epsilon + hair) >= closed

    @pytest.mark.parametrize("k", [1, 3])
    def test_untruncated_laplace_has_the_closed_form_below_its_epsilon(self, k):
        """Losses are +-eps but for 1 in between: the binomial sum of k two-sided geometric cells."""
        epsilon = 0.5
        table = laplace(epsilon=epsilon, modulus=2**64)
        losses = LossDistribution({table: k}, grid=1e-5)
        high = 1 / (1 + math.exp(-epsilon))  # P(loss = eps) of count a against a + 1, either way
        for at in (0.1, 0.3, 0.45, 1.0, 1.4):
            closed = sum(
                math.comb(k, j)
                * high**j
                * (1 - high) ** (k - j)
                * max(0.0, 1 - math.exp(at - (2 * j - k) * epsilon))
                for j in range(k + 1)
            )
            assert closed - 1e-15 <= losses.delta(at) <= closed + 3e-5 * k

    def test_it_bounds_the_exact_composition_from_above_and_nearly_meets_it(self):
        table = laplace(epsilon=0.5, m=14, modulus=2**32)
        losses = LossDistribution({table: 3}, grid=1e-5)
        for epsilon in (0.3, 0.8, 1.2, 1.6):
            exact = float(exact_delta(table, epsilon=epsilon, cells=3))
            assert exact <= losses.delta(epsilon) <= exact + 1e-4
        assert losses.epsilon(1e-2) == pytest.approx(exact_epsilon(table, delta=1e-2, cells=3), abs=1e-3)

    @pytest.mark.slow
    def test_gaussian_tables_meet_the_gaussian_curve(self):
        losses = LossDistribution({rounded_normal(50.0): 20, rounded_normal(100.0): 40})
        mu = composed_mu([50.0] * 20 + [100.0] * 40)
        assert gaussian_delta_above(mu, losses.epsilon(1e-6)) == pytest.approx(1e-6, rel=0.1)

    def test_replace_one_composes_a_gain_and_a_loss(self):
        table = laplace(epsilon=0.5, m=14, modulus=2**32)
        losses = LossDistribution({table: 1}, changes=2, grid=1e-5)
        for epsilon in (0.4, 0.9, 1.1):
            exact = float(exact_delta(table, epsilon=epsilon, neighbours="replace-one"))
            assert exact <= losses.delta(epsilon) <= exact + 1e-4

    def test_no_epsilon_is_claimed_below_what_double_precision_can_tell(self):
        assert LossDistribution({laplace(epsilon=1.0, m=40): 1}).epsilon(ALLOWANCE) == math.inf

    def test_tables_of_many_rows_are_refused(self):
        with pytest.raises(BadRequest, match="one row"):
            LossDistribution({build("maxent", {"D": 5, "V": 3.0}): 1})


def test_without_the_library_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtra, match="dp-accounting"):
        LossDistribution({laplace(epsilon=1.0): 1})
