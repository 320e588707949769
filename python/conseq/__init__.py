"""Patient records that obey medical rules, and the proof that they do.

>>> import conseq as cq
>>> rules = cq.Rules.parse("rule lifelong: ICD9CM//250 in previous => ICD9CM//250")
>>> rules.compile()
<Plan: 1 rule over 1 code, proved for records of up to 100 encounters>

Messages go to the logger ``conseq``; progress is shown by tqdm where it is installed. Calls that take long can be
stopped with Ctrl-C: training leaves a checkpoint that ``resume=True`` goes on from; other work ends at its next step,
and nothing is left half written. Every such call takes ``threads=`` (what it gives does not depend on it) and
``progress=``; whatever draws random numbers takes ``seed=``.
"""

from ._native import VERSION as __version__
from ._versions import show_versions, versions
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
from .plan import Plan
from .report import Part, Report
from .rules import Rule, Rules
from .vocabulary import Vocabulary

__all__ = [
    "CompileError",
    "ConseqError",
    "DataError",
    "FileError",
    "InputError",
    "InternalError",
    "Interrupted",
    "MissingPackageError",
    "ModelError",
    "OutputExistsError",
    "Part",
    "Plan",
    "Report",
    "Rule",
    "Rules",
    "RulesError",
    "Vocabulary",
    "__version__",
    "show_versions",
    "versions",
]
