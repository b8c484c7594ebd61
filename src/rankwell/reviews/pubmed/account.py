"""Who asks: NCBI wants an e-mail address, and gives a higher rate to those with an API key."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

TOOL = "rankwell"
WITHOUT_KEY, WITH_KEY = 3.0, 10.0  # requests a second that NCBI allows


@dataclass(frozen=True)
class Account:
    """The e-mail address and the API key. Neither is printed, logged, cached or part of a fingerprint."""

    email: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls) -> Account:
        """From RANKWELL_NCBI_EMAIL and RANKWELL_NCBI_API_KEY."""
        return cls(os.environ.get("RANKWELL_NCBI_EMAIL", ""), os.environ.get("RANKWELL_NCBI_API_KEY", ""))

    @property
    def rate(self) -> float:
        """Requests a second."""
        return WITH_KEY if self.api_key else WITHOUT_KEY

    def parameters(self) -> dict[str, str]:
        """What every request carries."""
        named = {"tool": TOOL, "email": self.email, "api_key": self.api_key}
        return {name: value for name, value in named.items() if value}
