"""Risk and utility for the custodian: the one place besides the pipeline where true and released counts meet.

What is here is confidential. It is made from true counts and simulated noise, never from the real keys.
"""

from __future__ import annotations

from discreet.assess.assessment import Assessment, assess, assess_subject
from discreet.assess.cases import Case, cases_of
from discreet.assess.subject import Subject, subject_of

__all__ = ["Assessment", "Case", "Subject", "assess", "assess_subject", "cases_of", "subject_of"]
