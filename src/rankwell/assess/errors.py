"""What an assessor or an administrator may run into; the pages say these in words of their own."""

from __future__ import annotations

from rankwell.core import RankwellError


class AssessError(RankwellError):
    """Something that this person cannot do now."""


class NotThereError(AssessError):
    """No such assessor, query, passage or code, or none that this person may see: the two are not told apart."""


class PausedError(AssessError):
    """An administrator has paused this assessor."""


class NoConsentError(AssessError):
    """The assessor has not agreed to the study's consent text yet."""


class TooManyAttemptsError(AssessError):
    """Too many tries at signing in from one place or for one address."""
