"""Risk and utility for the custodian, from true counts and simulated noise. Confidential.

Besides the pipeline this is the only package where true and released counts meet. The real keys are never used.
"""

from discreet.assess.assessment import Assessment, assess, assess_subject
from discreet.assess.subject import Case, Subject, cases_of, subject_of

__all__ = ["Assessment", "Case", "Subject", "assess", "assess_subject", "cases_of", "subject_of"]
