"""A layer that makes any PyTorch model of records obey the rules of a plan.

>>> import conseq as cq, torch
>>> from conseq.torch import ConstraintLayer
>>> plan = cq.Rules.parse("rule lifelong: DIABETES in previous => DIABETES").compile()
>>> layer = ConstraintLayer(plan)
>>> layer.codes
['DIABETES', 'END']

Tensors of visits are ``records x visits x codes``, whatever their type: what is not 0 is present. Visit 0 is the static
one. Codes are as the plan's vocabulary numbers them, and the last one is ``END``, which marks a record's last visit.

PyTorch is no requirement of this package: whoever imports this module needs it.
"""

from ..errors import MissingPackageError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingPackageError("conseq.torch needs PyTorch", "pip install torch") from error

from ._draws import uniforms
from ._past import History
from .layer import ConstraintLayer, Ruling
from .networks import Halo, Network, Recurrent, as_torch

__all__ = ["ConstraintLayer", "Halo", "History", "Network", "Recurrent", "Ruling", "as_torch", "uniforms"]
