"""Assessment studies: several people grade passages; grades become labels, agreement figures and experiments."""

from __future__ import annotations

from rankwell.judging.agreement import measure_agreement
from rankwell.judging.experiments import run_experiments
from rankwell.judging.labels import LabelRules
from rankwell.judging.opening import create_study, open_study

__all__ = ["LabelRules", "create_study", "measure_agreement", "open_study", "run_experiments"]
