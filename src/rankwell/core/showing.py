"""Results that show themselves: a table by `print`, a table and a picture in a notebook, LaTeX, a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwell.core.plugins import Plugins

if TYPE_CHECKING:
    import pandas as pd

# The view of each class: a function from an object to a `rankwell.report.views.View`. Tables and pictures stand above
# the classes that they show, so they are found here by name, when somebody looks.
VIEWS = Plugins(
    "rankwell.views",
    {
        "Comparison": "rankwell.report.views:comparison_view",
        "Evaluation": "rankwell.report.views:evaluation_view",
        "Evaluations": "rankwell.report.views:evaluations_view",
        "Judgments": "rankwell.report.views:judgments_view",
        "Queries": "rankwell.report.views:queries_view",
        "Run": "rankwell.report.views:run_view",
        "Sweep": "rankwell.report.views:sweep_view",
        "TrainingResult": "rankwell.report.views:training_view",
        "Tuning": "rankwell.report.views:tuning_view",
    },
)


class Shown:
    """Shows itself: `print` a table, a notebook a table and a picture. `repr` is one line."""

    __slots__ = ()

    def _view(self) -> Any:
        kind = next(kind.__name__ for kind in type(self).__mro__ if kind.__name__ in VIEWS)
        return VIEWS[kind](self)

    def __str__(self) -> str:
        return str(self._view().text())

    def _repr_html_(self) -> str:
        return str(self._view().html())

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""The table as a LaTeX `table` (needs \usepackage{booktabs}).

        A comparison has the best values in bold, and names baseline, test, correction and the meaning of the marks.
        """
        return str(self._view().latex(caption, label))

    def to_frame(self) -> pd.DataFrame:
        """The figures as a data frame."""
        table: pd.DataFrame = self._view().frame()
        return table
