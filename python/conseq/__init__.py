"""Patient records that obey medical rules, and the proof that they do.

>>> import conseq as cq
>>> cohort = cq.Cohort.simulate("inpatient", patients=300)
>>> plan = cohort.truth().compile(cohort)
>>> plan.audit(cohort).found
False
>>> model = cq.Model.train(cohort, rules=plan, generator="markov")
>>> new = model.sample(100, seed=7)
>>> len(new), plan.audit(new).found
(100, False)

Messages go to the logger ``conseq``; progress is shown by tqdm where it is installed. Calls that take long can be
stopped with Ctrl-C: training leaves a checkpoint that ``resume=True`` goes on from; other work ends at its next step,
and nothing is left half written. Every such call takes ``threads=`` (what it gives does not depend on it) and
``progress=``; whatever draws random numbers takes ``seed=``.
"""

from ._native import VERSION as __version__
from ._versions import show_versions, versions
from .cohort import Cohort
from .errors import (
    CompileError,
    ConseqError,
    DataError,
    FileError,
    InputError,
    InternalError,
    Interrupted,
    MissingPackageError,
    ModelError,
    OutputExistsError,
    RulesError,
)
from .estimator import Synthesizer
from .model import Model
from .plan import Plan
from .report import Part, Report
from .rules import Rule, Rules
from .verbs import audit, compare, diff, enforce, evaluate, release_check, synthesize
from .vocabulary import Vocabulary

__all__ = [
    "Cohort",
    "CompileError",
    "ConseqError",
    "DataError",
    "FileError",
    "InputError",
    "InternalError",
    "Interrupted",
    "MissingPackageError",
    "Model",
    "ModelError",
    "OutputExistsError",
    "Part",
    "Plan",
    "Report",
    "Rule",
    "Rules",
    "RulesError",
    "Synthesizer",
    "Vocabulary",
    "__version__",
    "audit",
    "compare",
    "diff",
    "enforce",
    "evaluate",
    "release_check",
    "show_versions",
    "synthesize",
    "versions",
]
