"""A model with the three methods that other libraries know: fit, sample, score."""

from __future__ import annotations

from typing import Any

from ._given import CohortLike, RulesLike
from .cohort import Cohort
from .errors import InputError, ModelError
from .model import Model


class Synthesizer:
    """Fits a model to records and samples new ones, in the habits of scikit-learn.

    ``settings`` are those of :meth:`Model.train <conseq.Model.train>`.

    >>> import conseq as cq
    >>> cohort = cq.Cohort.simulate("inpatient", patients=300)
    >>> synthesizer = cq.Synthesizer(rules=cohort.truth(), generator="markov").fit(cohort)
    >>> len(synthesizer.sample(10, seed=3))
    10
    >>> synthesizer.score(cohort) < 0
    True
    """

    #: The model, once it was fitted.
    model_: Model

    def __init__(self, rules: RulesLike = None, **settings: Any) -> None:
        import inspect

        known = set(inspect.signature(Model.train).parameters) - {"cohort", "rules", "out", "resume", "force"}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise InputError(f"there is no setting {unknown[0]!r}", f"there is {', '.join(sorted(known))}")
        self.rules = rules
        self.settings = settings

    def fit(self, X: CohortLike, y: object = None) -> Synthesizer:
        """Trains a model on a cohort, or on anything that :meth:`Cohort.from_table <conseq.Cohort.from_table>` reads."""
        self.model_ = Model.train(X, self.rules, **self.settings)
        return self

    def sample(self, n: int = 1, *, seed: int = 1, **settings: Any) -> Cohort:
        """New records; settings are those of :meth:`Model.sample <conseq.Model.sample>`."""
        return self._fitted().sample(n, seed=seed, **settings)

    def score_samples(self, X: CohortLike) -> list[float]:
        """The logarithm of the probability of every record."""
        return self._fitted().log_prob(X)

    def score(self, X: CohortLike, y: object = None) -> float:
        """The mean logarithm of the probability of a record; higher is better."""
        logarithms = self.score_samples(X)
        return sum(logarithms) / max(len(logarithms), 1)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The rules and settings that it was made with."""
        return {"rules": self.rules, **self.settings}

    def set_params(self, **settings: Any) -> Synthesizer:
        """Sets rules or settings anew."""
        given = {**self.get_params(), **settings}
        self.__init__(**given)  # type: ignore[misc]
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"Synthesizer({shown})"

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise ModelError("nothing was fitted yet", "call fit first")
        return self.model_
